/** What a command sees of the process it runs in, so that tests can run commands without one. */
import { homedir } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import type { Env } from '../config/environment.ts';
import { exitCodes } from './exit-codes.ts';
import { createStyle, type Style } from './style.ts';

export interface Input {
  readonly stream: Readable;
  readonly isTerminal: boolean;
}

export interface Output {
  write(text: string): void;
  /** `write` takes text; this takes bytes. */
  readonly stream: Writable;
  readonly isTerminal: boolean;
  /** Whether the cursor can be moved: a terminal that is not dumb. */
  readonly canRedraw: boolean;
  /** The width of the terminal; unlimited if there is none. */
  readonly columns: number;
  readonly rows: number;
  readonly style: Style;
  /** The reader has gone: output goes nowhere. */
  readonly closed: AbortSignal;
  onResize(call: () => void): Disposable;
}

export interface Terminal {
  /** Prints one or more lines. */
  out(text: string): void;
  /** The same, for problems and notices that do not belong into piped output. */
  err(text: string): void;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Env;
  readonly homeDir: string;
  /** What relative paths are relative to. */
  readonly workingDir: string;
}

export function processTerminal(): Terminal {
  const stdout = toOutput(process.stdout);
  const stderr = toOutput(process.stderr);
  return {
    out: (text) => stdout.write(`${text}\n`),
    err: (text) => stderr.write(`${text}\n`),
    // Opened by the first command that reads it.
    get stdin() {
      return { stream: process.stdin, isTerminal: process.stdin.isTTY === true };
    },
    stdout,
    stderr,
    env: process.env,
    homeDir: homeDirectory(),
    // Fails in a directory that was deleted, where a command without paths still works.
    get workingDir() {
      return process.cwd();
    },
  };
}

function toOutput(stream: NodeJS.WriteStream): Output {
  const isTerminal = stream.isTTY === true;
  const gone = new AbortController();
  // The reader of the output may go away first (`talaria serve | head`); each command decides whether to end then. A
  // closed terminal answers with EIO. After a full disk there is nothing to continue for.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || error.code === 'EIO') gone.abort();
    else endUnwritten(stream, error);
  });
  return {
    write: (text) => stream.write(text),
    stream,
    isTerminal,
    canRedraw: isTerminal && process.env.TERM !== 'dumb',
    get columns() {
      return isTerminal ? stream.columns || 80 : Number.POSITIVE_INFINITY;
    },
    get rows() {
      return isTerminal ? stream.rows || 24 : Number.POSITIVE_INFINITY;
    },
    // Knows NO_COLOR, FORCE_COLOR and TERM.
    style: createStyle(isTerminal && stream.hasColors()),
    closed: gone.signal,
    onResize(call) {
      stream.on('resize', call);
      return { [Symbol.dispose]: () => void stream.off('resize', call) };
    },
  };
}

function endUnwritten(stream: NodeJS.WriteStream, { message }: Error): never {
  if (stream === process.stdout) process.stderr.write(`The output could not be written: ${message}\n`);
  process.exit(exitCodes.failed);
}

/** Empty if a user has none; that matters only if a path with ~ is in use, and is then a named problem. */
function homeDirectory(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
