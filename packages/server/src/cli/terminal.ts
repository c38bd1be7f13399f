/** What a command sees of the process it runs in, so that tests can run commands without one. */
import { homedir } from 'node:os';
import type { Env } from '../config/environment.ts';

export interface Terminal {
  /** Prints one or more lines. */
  out(text: string): void;
  /** The same, for problems and notices that do not belong into piped output. */
  err(text: string): void;
  readonly env: Env;
  readonly homeDir: string;
}

export function processTerminal(): Terminal {
  // Who reads the output may go away first (`talaria serve | head`); that is no reason to stop a server.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  return {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    env: process.env,
    homeDir: homeDirectory(),
  };
}

/** Empty where a user has none; that matters only if a path with ~ is in use, and is then a named problem. */
function homeDirectory(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
