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
  readonly url: string;
  readonly dataDir: string;
  readonly #ownsDataDir: boolean;
  readonly #close: () => Promise<unknown>;

  static async start(options: ServerOptions = {}): Promise<HostedServer> {
    const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'talaria-test-'));
    // Runs that are left at the end of a test are of no interest.
    const settings = serverSettings(options, dataDir, { TALARIA_DRAIN_SECONDS: '0' });
    host ??= ServerHost.start();
    const { url, close } = await (await host).open(settings);
    return new HostedServer(url, dataDir, options.dataDir === undefined, close);
  }

  private constructor(url: string, dataDir: string, ownsDataDir: boolean, close: () => Promise<unknown>) {
    this.url = url;
    this.dataDir = dataDir;
    this.#ownsDataDir = ownsDataDir;
    this.#close = close;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    if (this.#ownsDataDir) rmSync(this.dataDir, { recursive: true, force: true });
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
