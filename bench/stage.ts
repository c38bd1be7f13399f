/**
 * The processes and directories of a scenario. All of them end with the stage, however the scenario ends, and nothing
 * else does.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  startPostgres,
  type TestPostgres,
} from '../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { FROM_SOURCE, ServerProcess, type ServerProcessOptions } from '../test/support/server-process.ts';

const ANSWER_LIMIT_MS = 60_000;

export interface BenchProcess {
  readonly pid: number;
  readonly port: number;
  send(command: unknown): void;
  /** The next message the process sends. */
  next<T>(): Promise<T>;
}

export class Stage implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  #ended: Promise<void> | undefined;

  /** A stage for a part of the scenario, which ends earlier or, at the latest, with this one. */
  nested(): Stage {
    return this.#stack.use(new Stage());
  }

  directory(): string {
    const path = mkdtempSync(join(tmpdir(), 'talaria-bench-'));
    this.#stack.defer(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  /** The server as people run it: the command, in a separate process. */
  async server(options: ServerProcessOptions): Promise<ServerProcess> {
    const server = this.#stack.use(new ServerProcess({ program: FROM_SOURCE, ...options }));
    await server.start();
    return server;
  }

  /** A Postgres with default settings, which waits for the disk before it reports a commit. */
  async postgres(): Promise<TestPostgres> {
    const settings = { fsync: 'on', full_page_writes: 'on' };
    const postgres = await startPostgres({ settings });
    this.#stack.defer(() => postgres.stop());
    return postgres;
  }

  /** Starts a file of this folder, which listens and reports its port. */
  async process(file: string, args: string[] = [], execArgv: string[] = []): Promise<BenchProcess> {
    const path = fileURLToPath(new URL(file, import.meta.url));
    // Not the options of this process: they are for measuring, not for what is measured.
    const child = fork(path, args, { execArgv });
    this.#stack.defer(() => end(child));
    const ended = failOnExit(child, file);
    ended.catch(() => {});
    const next = async <T>() => {
      const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
      const [message] = await Promise.race([once(child, 'message', { signal }), ended]);
      return message as T;
    };
    const { port } = await next<{ port: number }>();
    return { pid: child.pid!, port, send: (command) => child.send(command as object), next };
  }

  /** A second caller waits for the first: both a signal and the scenario it interrupted end the stage. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#stack.disposeAsync();
    return this.#ended;
  }
}

async function failOnExit(child: ChildProcess, file: string): Promise<never> {
  const [code, signal] = await once(child, 'exit');
  throw new Error(`${file} ended early (${code ?? signal})`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
