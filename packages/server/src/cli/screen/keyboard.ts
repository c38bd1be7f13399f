/**
 * Single keys from the person at the terminal, also if stdin is a pipe. While it listens the terminal neither echoes
 * nor waits for Enter; keys for signals still work.
 */
import { openSync } from 'node:fs';
import { ReadStream } from 'node:tty';

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
export function openKeyboard(): Keyboard | undefined {
  if (!process.stdout.isTTY && !process.stderr.isTTY) return undefined;
  const input = process.stdin.isTTY ? process.stdin : controllingTerminal();
  if (input === undefined) return undefined;
  return {
    listen(onKey) {
      const onData = (bytes: Buffer): void => {
        const key = bytes.toString('utf8');
        const signal = SIGNALS[key];
        if (signal === undefined) {
          onKey(key);
        } else {
          input.setRawMode(false);
          // At once, so that a stopped process leaves raw mode first; the default action if nobody listens.
          if (!process.emit(signal, signal)) process.kill(process.pid, signal);
          input.setRawMode(true);
        }
      };
      input.setRawMode(true);
      input.on('data', onData).resume().ref();
      return {
        [Symbol.dispose]() {
          input.setRawMode(false);
          // Unread input must not keep the process from ending.
          input.off('data', onData).pause().unref();
        },
      };
    },
  };
}

function controllingTerminal(): ReadStream | undefined {
  try {
    return new ReadStream(openSync('/dev/tty', 'r+'));
  } catch {
    return undefined;
  }
}
