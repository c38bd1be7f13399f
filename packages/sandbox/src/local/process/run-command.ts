/**
 * One command from spawn to its end.
 *
 *   running ─exits→ ended
 *   running ─timeout or abort→ ending ─everything is dead→ ended
 *
 * Both outputs of a command are one pipe, so its output stays in order, unless the caller wants its errors apart. `runCommand` settles when the command's processes
 * are gone and its output is read, and never waits longer than the drain time for a pipe that somebody outside still
 * holds.
 */
import { Socket } from 'node:net';
import { constants as os } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PipeStock } from './pipe-stock.ts';
import type { CommandIo, InputEnd, Program, ProgramExit } from './program.ts';
import { type Launch, spawnProgram } from './spawn-program.ts';

const READ_BYTES = 64 * 1024;
const MOST_SPARE = 32;
const DRAIN_MS = 1_000;
/** Turns of the event loop: in the first it reads what there is, in the second it notices the end. */
const LAST_TURNS = 2;
/** If a number has two names, the usual one comes first in Node's list, so it is inserted last. */
const SIGNALS = new Map(
  Object.entries(os.signals)
    .reverse()
    .map(([name, number]) => [number, name as NodeJS.Signals] as const),
);

/** Starts the program of a command: a command line of this process, or a keeper. */
export type Starter = Launch | ((io: CommandIo) => Program);

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
  /** Receives what it writes to standard error; without it that goes to `capture`, in order. */
  errors?: OutputSink | undefined;
  /** To read from; the caller still owns it. Without it the input is at its end. */
  stdin?: InputEnd;
  /** Without it the command may take forever. */
  timeoutMs?: number | undefined;
  signal: AbortSignal;
  /** Called when it has its descriptors. */
  onStart?(running: RunningCommand): void;
}

export type RunningCommand = Pick<Program, 'pid' | 'signal'>;

export interface CommandEnd {
  /** `lost`: what ran it is gone, so nobody can say how it ended. */
  cause: 'exited' | 'timeout' | 'aborted' | 'lost';
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
  /** How much it has written to disks; 0 if the kernel already counts that for this process. */
  writtenBytes: number;
}

export async function runCommand(starter: Starter, options: CommandOptions): Promise<CommandEnd> {
  const output = await options.pipes.takeNamed();
  const errors = options.errors && (await options.pipes.takeNamed());
  const readers = [readOutput(output.read, options.capture)];
  if (errors && options.errors) readers.push(readOutput(errors.read, options.errors));
  try {
    const program = start(starter, {
      ...options,
      input: options.stdin,
      output,
      errors,
      onBegun: (begun) => options.onStart?.(begun),
    });
    return await supervise(program, options, readers);
  } finally {
    await Promise.all(readers.map((reader) => reader.close()));
  }
}

function start(starter: Starter, io: CommandIo): Program {
  return typeof starter === 'function' ? starter(io) : spawnProgram(starter, io);
}

async function supervise(
  program: Program,
  options: CommandOptions,
  readers: readonly OutputReader[],
): Promise<CommandEnd> {
  let exit: ProgramExit | undefined;
  const exited = program.exited.then((end) => {
    exit = end;
  });
  const cause = await firstOf(exited, options);
  const gone = await program.end();
  await Promise.all(readers.map((reader) => reader.drained(DRAIN_MS)));
  const { code = null, started = false, isLost = false, writtenBytes = 0 } = exit ?? {};
  const exitCode = code ?? undefined;
  return {
    message: exit?.message() ?? '',
    cause: isLost && cause === 'exited' ? 'lost' : cause,
    exitCode,
    signal: signalOf(exitCode),
    started,
    gone,
    writtenBytes,
  };
}

function signalOf(exitCode = 0): NodeJS.Signals | undefined {
  return SIGNALS.get(exitCode - 128);
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
      // A busy event loop runs its timers late, and its pipes after them: the output that is already in the pipe counts.
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
