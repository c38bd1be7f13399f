/** Text from an argument, or `-` for all of stdin. */
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

export async function readText(given: string, what: string, terminal: Terminal): Promise<string> {
  const text = given === '-' ? await readStdin(what, terminal) : given;
  if (text.trim() === '') throw new UsageError(`${what} is empty`);
  return text;
}

export async function readStdin(what: string, terminal: Terminal): Promise<string> {
  const { stream, isTerminal } = terminal.stdin;
  if (isTerminal) terminal.err(`Type ${what}, then Ctrl-D on a line of its own:`);
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += chunk;
  return text;
}
