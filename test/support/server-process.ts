/**
 * A real server in a separate process, on a free port and with its own data directory, which can be killed and
 * restarted on the same data.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledCommand, NODE_FLAGS } from './bundled-command.ts';
import { type ServerOptions, serverSettings } from './server-settings.ts';

/** The command in this repository, for a server that reads its own source. */
export const FROM_SOURCE: readonly string[] = [
  process.execPath,
  fileURLToPath(new URL('../../packages/server/bin/talaria.js', import.meta.url)),
];
const START_LIMIT_MS = 100_000;

export interface ServerProcessOptions extends ServerOptions {
  /** What starts the command, instead of this repository's bundle. */
  program?: readonly string[];
  /** Words before its command line. */
  wrapper?: readonly string[];
}

export class ServerProcess {
  readonly dataDir: string;
  readonly #options: ServerProcessOptions;
  readonly #ownsDataDir: boolean;
  #child: ChildProcess | undefined;
  #url = '';
  #output = '';
  #errors = '';

  static async start(options: ServerProcessOptions = {}): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    await server.start();
    return server;
  }

  constructor(options: ServerProcessOptions = {}) {
    this.#options = options;
    this.#ownsDataDir = options.dataDir === undefined;
    this.dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'talaria-test-'));
  }

  get url(): string {
    return this.#url;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** What it printed since its last start. */
  get output(): string {
    return this.#output;
  }

  get errors(): string {
    return this.#errors;
  }

  /** Starts it, or starts it again on the same data; `env` adds to the settings of this start only. */
  async start(env: Record<string, string> = {}): Promise<void> {
    await this.#spawn(env);
    const child = this.#child!;
    const ready = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`The server did not start:\n${this.#errors}`)),
        START_LIMIT_MS,
      );
      child.stdout?.on('data', () => {
        const match = /listens on (http:\/\/\S+)/.exec(this.#output);
        if (match?.[1] === undefined) return;
        clearTimeout(timer);
        this.#url = match[1];
        resolve();
      });
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        reject(new Error(`The server ended at start (${code ?? signal}):\n${this.#errors}`));
      });
    });
    await ready;
  }

  /** Starts it and waits for its end, for starts that should fail. */
  async startAndExit(
    env: Record<string, string> = {},
  ): Promise<{ code: number | null; signal: string | null }> {
    await this.#spawn(env);
    return this.exited();
  }

  async exited(): Promise<{ code: number | null; signal: string | null }> {
    const child = this.#child!;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return { code: child.exitCode, signal: child.signalCode };
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<{ code: number | null; signal: string | null }> {
    this.#child?.kill(signal);
    return this.exited();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) {
      await this.kill();
    }
    if (this.#ownsDataDir) rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #spawn(env: Record<string, string>): Promise<void> {
    this.#output = '';
    this.#errors = '';
    const { wrapper = [], program } = this.#options;
    const bundle = program === undefined ? await bundledCommand() : undefined;
    const words = [...wrapper, ...(program ?? [process.execPath, ...NODE_FLAGS, bundle!.path]), 'serve'];
    const child = spawn(words[0]!, words.slice(1), {
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: bundle?.compileCache ?? process.env.NODE_COMPILE_CACHE,
        ...serverSettings(this.#options, this.dataDir, env),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    this.#child = child;
  }
}
