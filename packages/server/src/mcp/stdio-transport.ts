/**
 * An MCP server as a child process, behind the SDK's interface of a transport.
 *
 *   started ─exits, or says something unreadable→ ended
 *   started ─close→ stdin closed ─1 s→ SIGTERM ─1 s→ SIGKILL → ended
 *
 * The SDK has a transport for this too. But it ends only the process it started and not what that has started, and it
 * waits for pipes that such a grandchild may hold open. Here the child leads a process group, and signals go to the
 * group. Whatever is left of it when the child has ended is killed: at the end of a connection, and at the end of this
 * process, even if that is killed (`process-groups.ts`, and `dies-with-us.ts` for the child itself).
 *
 * The child gets its own environment: the configured variables, and a few that every program needs.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import type { StdioConfig } from '../config/index.ts';
import { completeResult } from './complete-results.ts';
import { dyingWithUs } from './dies-with-us.ts';
import { MessageLines } from './message-lines.ts';
import { forget, remember, signalGroup } from './process-groups.ts';

/** The limit of one message; a tool with a larger result cannot be used. */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const GRACE_MS = 1_000;
/** How long the output of an ended child may take to arrive. */
const DRAIN_MS = 500;
/** Far more than is shown of it: a secret must not be cut before it is masked. */
const UNREADABLE_CHARS = 4_000;
const INHERITED = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'TZ', 'USER'];

export interface StdioTransportOptions {
  config: StdioConfig;
  /** Where the inherited variables come from. */
  environment: Readonly<Record<string, string | undefined>>;
  onStderr(text: string): void;
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: StdioTransportOptions;
  readonly #lines = new MessageLines(MAX_MESSAGE_BYTES);
  readonly #exited = Promise.withResolvers<void>();
  #starting: Promise<void> | undefined;
  #child: ChildProcessWithoutNullStreams | undefined;
  #closing = false;
  #ended = false;
  #end: string | undefined;
  #unreadable: string | undefined;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  /**
   * How it ended by itself, as the end of a sentence that begins with the name of the server; undefined while it runs,
   * or was closed.
   */
  get end(): string | undefined {
    return this.#end;
  }

  /** A printed line that is not an MCP message. */
  get unreadable(): string | undefined {
    return this.#unreadable;
  }

  start(): Promise<void> {
    this.#starting = this.#spawn();
    return this.#starting;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    const failure = await new Promise<Error | null | undefined>((resolve) => {
      if (stdin?.writable !== true) resolve(new Error('the server has ended'));
      else stdin.write(`${JSON.stringify(message)}\n`, resolve);
    });
    if (failure == null) return;
    // A pipe breaks a moment before it is known how the process ended, which says more.
    await this.#exitsWithin(GRACE_MS);
    throw failure;
  }

  async close(): Promise<void> {
    this.#closing = true;
    // Takes a moment; a process that is being started has to exist before it can be ended.
    await this.#starting?.catch(() => {});
    if (this.#child !== undefined) {
      this.#child.stdin.end();
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        if (await this.#exitsWithin(GRACE_MS)) break;
        this.#signal(signal);
      }
      await this.#exitsWithin(GRACE_MS);
    }
    this.#finish();
  }

  async #spawn(): Promise<void> {
    const { config, environment } = this.#options;
    const [program, ...args] = [...(await dyingWithUs()), config.command, ...config.args];
    if (this.#closing) throw new Error('closed before it was started');
    const inherited = INHERITED.map((name) => [name, environment[name]]).filter(
      ([, value]) => value !== undefined,
    );
    const env: NodeJS.ProcessEnv = { ...Object.fromEntries(inherited), ...config.env };
    // Otherwise setpriv would be what reports it, in words of its own.
    if (!isThere(config, env.PATH)) throw this.#notStarted(Object.assign(new Error(), { code: 'ENOENT' }));
    const child = spawn(program!, args, {
      cwd: config.cwd,
      env,
      stdio: 'pipe',
      // A group of its own, which can be ended as a whole.
      detached: true,
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error: NodeJS.ErrnoException) => reject(this.#notStarted(error)));
    });
    this.#child = child;
    if (child.pid !== undefined) remember(child.pid);
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.setEncoding('utf8').on('data', this.#options.onStderr);
    // A pipe breaks when the child ends, which is handled there.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
    const drained = Promise.all([child.stdout, child.stderr].map(closed));
    child.once('exit', (code, signal) => {
      if (!this.#closing) {
        this.#end ??= signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      }
      this.#signal('SIGKILL');
      const timer = setTimeout(() => this.#finish(), DRAIN_MS);
      void drained.then(() => {
        clearTimeout(timer);
        this.#finish();
      });
    });
  }

  #read(chunk: Buffer): void {
    let lines: string[];
    try {
      lines = this.#lines.push(chunk);
    } catch {
      this.#end ??= `sent a message of more than ${MAX_MESSAGE_BYTES} bytes`;
      this.#signal('SIGKILL');
      return;
    }
    for (const line of lines) this.#deliver(line);
  }

  #deliver(line: string): void {
    if (this.#ended || line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = completeResult(parseJSONRPCMessage(JSON.parse(line)));
    } catch {
      // Many servers print a greeting where only messages belong.
      this.#unreadable ??= line.slice(0, UNREADABLE_CHARS);
      return;
    }
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  /** Once, when nothing more will come. */
  #finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#signal('SIGKILL');
    if (this.#child?.pid !== undefined) forget(this.#child.pid);
    for (const stream of [this.#child?.stdout, this.#child?.stderr]) stream?.destroy();
    this.#exited.resolve();
    this.onclose?.();
  }

  async #exitsWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, ms, false);
    });
    const exited = this.#exited.promise.then(() => true);
    const result = await Promise.race([exited, limit]);
    clearTimeout(timer);
    return result;
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid !== undefined) signalGroup(pid, signal);
  }

  #notStarted(error: NodeJS.ErrnoException): Error {
    this.#end = `could not be started: ${this.#whyNotStarted(error)}`;
    this.#finish();
    return error;
  }

  /** A missing working directory is reported as if the program were missing. */
  #whyNotStarted(error: NodeJS.ErrnoException): string {
    const { cwd, command } = this.#options.config;
    if (cwd !== undefined && !existsSync(cwd)) return `its working directory ${cwd} does not exist`;
    return error.code === 'ENOENT' ? `the program ${command} was not found` : error.message;
  }
}

/** Whether the program exists, as far as this can be told: without a PATH the system looks in places of its own. */
function isThere({ command, cwd = '.' }: StdioConfig, path: string | undefined): boolean {
  if (command.includes('/')) return existsSync(resolve(cwd, command));
  return path?.split(delimiter).some((directory) => existsSync(resolve(cwd, directory, command))) ?? true;
}

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => stream.once('close', resolve));
}
