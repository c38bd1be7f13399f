/**
 * The processes and directories of a scenario. All of them end with the stage, however the scenario ends, and nothing
 * else does.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import root from '../package.json' with { type: 'json' };
import {
  startPostgres,
  type TestPostgres,
} from '../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { FROM_SOURCE, ServerProcess, type ServerProcessOptions } from '../test/support/server-process.ts';
import { waitFor } from '../test/support/wait-for.ts';

const ANSWER_LIMIT_MS = 60_000;
/** What is kept of a program's output, to explain why it failed. */
const LOG_CHARS = 5_000;

export interface BenchProcess {
  readonly pid: number;
  readonly port: number;
  send(command: unknown): void;
  /** The next message the process sends. */
  next<T>(): Promise<T>;
}

export interface ProgramOptions {
  /** Its home, too. */
  cwd: string;
  env?: Record<string, string>;
}

export interface Program {
  readonly pid: number;
  /** Resolves when a GET of this URL succeeds. */
  untilAnswers(url: string): Promise<void>;
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

  /** The server as people run it: what `npm start` runs, in a separate process. */
  async server(options: ServerProcessOptions): Promise<ServerProcess> {
    const server = this.#stack.use(new ServerProcess({ program: npmStart(), ...options }));
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
    // Not the options of this process: they are for measuring, not for what is measured. Nobody reads its output.
    const child = fork(path, args, { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
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

  /** Starts a program of others, with nothing of this environment but its path. What it starts ends with it. */
  program(words: readonly [string, ...string[]], { cwd, env }: ProgramOptions): Program {
    const [command, ...args] = words;
    const child = spawn(command, args, {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let log = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-LOG_CHARS);
      });
    }
    this.#stack.defer(() => end(child, -child.pid!));
    return {
      pid: child.pid!,
      untilAnswers: async (url) => {
        const answers = async () => {
          if (child.exitCode !== null) throw new Error(`${command} has ended:\n${log}`);
          return (await fetch(url).catch(() => undefined))?.ok;
        };
        await waitFor(command, answers, ANSWER_LIMIT_MS).catch((error: Error) => {
          throw new Error(`${error.message}\n${log}`);
        });
      },
    };
  }

  /** Ends with the stage. */
  use<T extends AsyncDisposable>(resource: T): T {
    return this.#stack.use(resource);
  }

  /** A second caller waits for the first: both a signal and the scenario it interrupted end the stage. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#stack.disposeAsync();
    return this.#ended;
  }
}

/** The command with the flags for Node that `npm start` gives it. */
function npmStart(): string[] {
  const flags = root.scripts.start.split(' ').filter((word) => word.startsWith('--'));
  const [node, command] = FROM_SOURCE;
  return [node!, ...flags, command!];
}

async function failOnExit(child: ChildProcess, file: string): Promise<never> {
  const [code, signal] = await once(child, 'exit');
  throw new Error(`${file} ended early (${code ?? signal})`);
}

/** `target`: the process, or its group as a negative number. */
async function end(child: ChildProcess, target = child.pid!): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  process.kill(target, 'SIGKILL');
  await once(child, 'exit');
}
