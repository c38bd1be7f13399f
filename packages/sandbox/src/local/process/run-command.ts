/**
 * One command from spawn to its end.
 *
 *   running ─exits→ ended
 *   running ─timeout or abort→ ending ─everything is dead→ ended
 *
 * Both outputs of a command are one pipe, so its output stays in order; the launched program has its own standard
 * error, so its own messages never count as output. The script is passed in an unlinked file: an argument may not
 * exceed 128 KB. `runCommand` settles when the command's processes are gone and its output is read, and never waits
 * longer than the drain time for a pipe that somebody outside still holds.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants as os } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { withoutInherited } from './inherited.ts';
import { inMemoryOr, momentaryName } from './memory-dir.ts';
import type { PipeStock } from './pipe-stock.ts';
import type { Exit } from './terminate.ts';

const READ_BYTES = 64 * 1024;
const MOST_SPARE = 32;
const DRAIN_MS = 1_000;
/** Turns of the event loop: in the first it reads what there is, in the second it notices the end. */
const LAST_TURNS = 2;
/** How much of the launched program's own messages is kept. */
const MESSAGE_LENGTH = 4_000;
/** Of two names for one number the usual one comes first in Node's list, so it is inserted last. */
const SIGNALS = new Map(
  Object.entries(os.signals)
    .reverse()
    .map(([name, number]) => [number, name as NodeJS.Signals] as const),
);

export interface Launch {
  program: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
  /** Descriptors that the program gets from 4 on; the caller still owns them. */
  entrances: readonly number[];
  /** Ends everything that the launched program started; true when nothing is left. */
  end(pid: number, exit: Exit): Promise<boolean>;
  /** Sends a signal to everything that the command has started and that still exists. */
  signal(pid: number, signal: NodeJS.Signals): void;
}

/** Receives the output. If it returns a promise, the reader waits, and so does the command. */
export interface OutputSink {
  write(chunk: Buffer): Promise<void> | undefined;
}

export interface CommandOptions {
  /** Read by the launched program from descriptor 3. */
  script: Uint8Array;
  /** A directory that commands cannot see, for the moment in which a script that is not in memory has a name. */
  scriptDir: string;
  pipes: PipeStock;
  capture: OutputSink;
  /** A descriptor to read from; the caller still owns it. Without it the input is at its end. */
  stdin?: number;
  /** Without it the command may take forever. */
  timeoutMs?: number | undefined;
  signal: AbortSignal;
  /** Called when it has been launched. */
  onStart?(running: RunningCommand): void;
}

export interface RunningCommand {
  /** The root process of everything that it runs. */
  pid: number;
  signal(signal: NodeJS.Signals): void;
}

export interface CommandEnd {
  cause: 'exited' | 'timeout' | 'aborted';
  /** As a shell reports it: 128 + n after signal n. */
  exitCode: number | undefined;
  /** From that code, because an isolated command is the child of a shell that reports nothing else. */
  signal: NodeJS.Signals | undefined;
  /** False if the program ended before it had read the script: then the sandbox failed. */
  started: boolean;
  /** The launched program's own messages; empty unless it failed. */
  message: string;
  /** False if something could not be killed. */
  gone: boolean;
}

interface ChildExit extends Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export async function runCommand(launch: Launch, options: CommandOptions): Promise<CommandEnd> {
  const script = inMemoryOr(options.scriptDir, (dir) => openNameless(options.script, dir));
  try {
    const pipe = await options.pipes.take();
    const output = readOutput(pipe.read, options.capture);
    try {
      return await supervise(launch, options, script, pipe.write, output);
    } finally {
      await output.close();
    }
  } finally {
    closeSync(script);
  }
}

async function supervise(
  launch: Launch,
  options: CommandOptions,
  script: number,
  outputFd: number,
  output: OutputReader,
): Promise<CommandEnd> {
  const { child, exit, exited } = start(launch, options.stdin ?? 'ignore', script, outputFd);
  const message = collectMessage(child.stderr);
  const { pid } = child;
  if (pid !== undefined) options.onStart?.({ pid, signal: (signal) => launch.signal(pid, signal) });
  const cause = await firstOf(exited, options);
  const gone = pid === undefined || (await launch.end(pid, exit));
  await output.drained(DRAIN_MS);
  const exitCode = exit.code ?? (exit.signal ? 128 + os.signals[exit.signal] : undefined);
  return {
    message: message(),
    cause,
    exitCode,
    signal: signalOf(exitCode),
    started: exit.code === 0 || wasRead(script),
    gone,
  };
}

function signalOf(exitCode = 0): NodeJS.Signals | undefined {
  return SIGNALS.get(exitCode - 128);
}

function start(launch: Launch, input: number | 'ignore', scriptFd: number, outputFd: number) {
  const exit: ChildExit = { done: false, code: null, signal: null };
  try {
    const child = spawn(launch.program, launch.args, {
      cwd: launch.cwd,
      env: launch.env,
      // Its own session: no terminal, and a group that can be named as a whole.
      detached: true,
      stdio: withoutInherited([input, outputFd, 'pipe', scriptFd, ...launch.entrances]),
    });
    const exited = new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        Object.assign(exit, { done: true, code, signal });
        resolve();
      });
    });
    return { child, exit, exited };
  } finally {
    // The command has it now; while the server held it too, the output would never end.
    closeSync(outputFd);
  }
}

/** Reads more than it keeps: a writer must not block on it. */
function collectMessage(stderr: Readable | null): () => string {
  let text = '';
  // Null where the spawn itself failed.
  stderr?.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(0, MESSAGE_LENGTH);
  });
  return () => {
    stderr?.destroy();
    return text.trim();
  };
}

function firstOf(exited: Promise<void>, { timeoutMs, signal }: CommandOptions): Promise<CommandEnd['cause']> {
  return new Promise((resolve, reject) => {
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => settle('timeout'), timeoutMs);
    const onAbort = () => settle('aborted');
    const settle = (cause: CommandEnd['cause'], error?: Error) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      if (error) reject(error);
      else resolve(cause);
    };
    if (signal.aborted) settle('aborted');
    signal.addEventListener('abort', onAbort, { once: true });
    exited.then(
      () => settle('exited'),
      (error) => settle('exited', error),
    );
  });
}

interface OutputReader {
  /** Waits until the output has ended, but not longer than this. */
  drained(withinMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Buffers of finished readers, for reuse: one each would be garbage that triggers full collections of the heap. */
const spareBuffers: Buffer[] = [];

/** Owns the descriptor. */
function readOutput(fd: number, capture: OutputSink): OutputReader {
  let writing: Promise<void> | undefined;
  const buffer = spareBuffers.pop() ?? Buffer.allocUnsafe(READ_BYTES);
  const socket = new Socket({
    fd,
    writable: false,
    onread: {
      buffer,
      callback(length) {
        writing = capture.write(buffer.subarray(0, length));
        if (!writing) return true;
        void writing.then(() => {
          writing = undefined;
          socket.resume();
        });
        return false;
      },
    },
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // A broken pipe counts as ended; what was read until then counts.
  socket.on('error', () => {});
  return {
    async drained(withinMs: number): Promise<void> {
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, withinMs);
      });
      await Promise.race([closed, limit]);
      clearTimeout(timer);
      // A busy event loop runs its timers late, and its pipes after them: what is in the pipe by now counts.
      for (let turn = 0; turn < LAST_TURNS; turn++) await Promise.race([closed, nextTurn()]);
    },
    async close(): Promise<void> {
      socket.destroy();
      await closed;
      await writing;
      if (spareBuffers.length < MOST_SPARE) spareBuffers.push(buffer);
    },
  };
}

/** A descriptor that reads this text, from a file without a name. */
function openNameless(text: Uint8Array, dir: string): number {
  const path = join(dir, momentaryName('script'));
  const writer = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(writer, text);
    return openSync(path, 'r');
  } finally {
    unlinkSync(path);
    closeSync(writer);
  }
}

/** The descriptor's offset is shared with the child, so it has moved once the child has read from it. */
function wasRead(script: number): boolean {
  return !/^pos:\s*0$/m.test(readFileSync(`/proc/self/fdinfo/${script}`, 'utf8'));
}
