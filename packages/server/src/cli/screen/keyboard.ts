/**
 * Single keys from the person at the terminal, also if stdin is a pipe. While it listens the terminal neither echoes
 * nor waits for Enter; keys for signals still work.
 */
import { openSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import type { Terminal } from '../terminal.ts';
import { KeyParser } from './parse-keys.ts';

export interface Keyboard {
  /** Until it is disposed of. */
  listen(onKey: (key: string) => void): Disposable;
}

const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = {
  '\x03': 'SIGINT',
  '\x1a': 'SIGTSTP',
  '\x1c': 'SIGQUIT',
};

/** Undefined if nobody can press a key. */
export function openKeyboard({ stdout, stderr }: Terminal): Keyboard | undefined {
  if (!stdout.isTerminal && !stderr.isTerminal) return undefined;
  const input = process.stdin.isTTY ? process.stdin : controllingTerminal();
  if (input === undefined) return undefined;
  return {
    listen(onKey) {
      const parser = new KeyParser((key) => key in SIGNALS);
      const take = (): void => {
        input.setRawMode(true);
        markPastes(true);
      };
      const release = (): void => {
        markPastes(false);
        input.setRawMode(false);
      };
      const press = (key: string): void => {
        const signal = SIGNALS[key];
        if (signal === undefined) {
          onKey(key);
          return;
        }
        release();
        // At once, so that a stopped process leaves raw mode first; the default action if nobody listens.
        if (!process.emit(signal, signal)) process.kill(process.pid, signal);
        take();
      };
      const onData = (bytes: Buffer): void => parser.parse(bytes).forEach(press);
      take();
      input.on('data', onData).resume().ref();
      // However the process ends. Node itself ends raw mode.
      const onExit = (): void => markPastes(false);
      process.once('exit', onExit);
      return {
        [Symbol.dispose]() {
          process.off('exit', onExit);
          release();
          // Unread input must not keep the process from ending.
          input.off('data', onData).pause().unref();
        },
      };
    },
  };
}

/** A question that takes single keys must not be answered by text that somebody pastes. */
function markPastes(on: boolean): void {
  if (process.env.TERM === 'dumb') return;
  const output = process.stdout.isTTY ? process.stdout : process.stderr;
  output.write(on ? '\x1b[?2004h' : '\x1b[?2004l');
}

function controllingTerminal(): ReadStream | undefined {
  try {
    return new ReadStream(openSync('/dev/tty', 'r+'));
  } catch {
    return undefined;
  }
}
