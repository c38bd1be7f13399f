/** Text from an argument, or `-` for all of stdin. */
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

export async function readText(given: string, what: string, terminal: Terminal): Promise<string> {
  const text = given === '-' ? await readStdin(what, terminal) : given;
  if (text.trim() === '') throw new UsageError(`${what} is empty`);
  return text;
}

export async function readStdin(what: string, terminal: Terminal): Promise<string> {
  if (process.stdin.isTTY) terminal.err(`Type ${what}, then Ctrl-D on a line of its own:`);
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text;
}
