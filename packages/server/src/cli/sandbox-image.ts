/** `talaria sandbox-image`: prints what `docker build` needs to make an image for containers on other machines. */
import { pipeline } from 'node:stream/promises';
import { imageContext } from '@talaria/sandbox/containers';
import type { Arguments } from './commands.ts';
import { exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

export async function printImageContext(
  { base }: Arguments<'sandboxImage'>,
  { stdout }: Terminal,
): Promise<number> {
  if (stdout.isTerminal)
    throw new UsageError(`this is for a pipe: talaria sandbox-image ${base} | docker build --tag NAME -`);
  await pipeline(imageContext(base), stdout.stream, { end: false, signal: stdout.closed });
  return exitCodes.ok;
}
