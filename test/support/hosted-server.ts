/**
 * A real server that shares its process with the servers of other tests, each on its own port and with its own data
 * directory. It costs far less than a process of its own, which loads and compiles everything anew. A test that kills its
 * server, stops it by a signal or reads what it prints needs a `ServerProcess`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundledCommand, NODE_FLAGS } from './bundled-command.ts';
import { type ServerOptions, serverSettings } from './server-settings.ts';

/** How much of what it printed is shown if it ends. */
const KEPT_CHARS = 10_000;

/** With `start`, a server is to start with these settings; without, it is to close. */
export interface HostRequest {
  readonly id: number;
  readonly start?: Record<string, string>;
}

export type HostReply =
  | { readonly id: number; readonly url: string }
  | { readonly id: number; readonly problem: string };

export class HostedServer implements AsyncDisposable {
  readonly dataDir: string;
  readonly #options: ServerOptions;
  #url = '';
  #close: () => Promise<unknown> = async () => {};

  static async start(options: ServerOptions = {}): Promise<HostedServer> {
    const server = new HostedServer(options);
    try {
      await server.#start({});
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  private constructor(options: ServerOptions) {
    this.#options = options;
    this.dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'talaria-test-'));
  }

  get url(): string {
    return this.#url;
  }

  /** Hands over unfinished runs at once. */
  async stop(): Promise<void> {
    const close = this.#close;
    this.#close = async () => {};
    await close();
  }

  /**
   * Stops it and starts it again on the same data after `meanwhile`. `env` adds to the settings of this start only.
   */
  async restart(env: Record<string, string> = {}, meanwhile: () => unknown = () => {}): Promise<void> {
    await this.stop();
    await meanwhile();
    await this.#start(env);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    if (this.#options.dataDir === undefined) rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #start(env: Record<string, string>): Promise<void> {
    // Runs that are left at the end of a test are of no interest.
    const settings = serverSettings(this.#options, this.dataDir, { ...env, TALARIA_DRAIN_SECONDS: '0' });
    host ??= ServerHost.start();
    const { url, close } = await (await host).open(settings);
    this.#url = url;
    this.#close = close;
  }
}

/** One for each process that runs tests. It ends with that process. */
let host: Promise<ServerHost> | undefined;

class ServerHost {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<string>>();
  #errors = '';
  #lastId = 0;

  static async start(): Promise<ServerHost> {
    const { hostPath, compileCache } = await bundledCommand();
    const child = spawn(process.execPath, [...NODE_FLAGS, hostPath], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent/home', NODE_COMPILE_CACHE: compileCache },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    await once(child, 'spawn');
    return new ServerHost(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-KEPT_CHARS);
    });
    child.on('message', (reply: HostReply) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ('problem' in reply) waiting?.reject(new Error(reply.problem));
      else waiting?.resolve(reply.url);
    });
    child.once('exit', (code, signal) => {
      host = undefined;
      const error = new Error(`The host of the servers ended (${code ?? signal}):\n${this.#errors}`);
      for (const { reject } of this.#waiting.values()) reject(error);
    });
    // It does not keep the tests' process alive.
    child.unref();
    child.channel!.unref();
    (child.stderr as Socket).unref();
  }

  async open(settings: Record<string, string>): Promise<{ url: string; close: () => Promise<unknown> }> {
    const id = ++this.#lastId;
    return { url: await this.#ask({ id, start: settings }), close: () => this.#ask({ id }) };
  }

  #ask(request: HostRequest): Promise<string> {
    const waiting = Promise.withResolvers<string>();
    this.#waiting.set(request.id, waiting);
    this.#child.send(request, (error) => error && waiting.reject(error));
    return waiting.promise;
  }
}
