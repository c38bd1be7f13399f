/** Asks a question that is answered with yes or no, by one key. Everything but `y` means no. */
import type { Terminal } from '../terminal.ts';
import { openKeyboard } from './keyboard.ts';

/** Undefined if nobody can be asked. Rejects with the reason of the signal. */
export async function confirm(
  question: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { stderr } = terminal;
  const keyboard = stderr.isTerminal ? openKeyboard(terminal) : undefined;
  if (keyboard === undefined) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const leave = (): void => reject(signal.reason);
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  stderr.write(`${stderr.style.careful('?')} ${question} [y/N] `);
  using _listening = keyboard.listen((key) => resolve(key.toLowerCase() === 'y'));
  try {
    const answer = await promise;
    stderr.write(answer ? 'yes\n' : 'no\n');
    return answer;
  } catch (error) {
    stderr.write('\n');
    throw error;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
