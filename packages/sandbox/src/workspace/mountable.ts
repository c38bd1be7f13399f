/** Which directories of the operator may be mounted as workspaces. */
import { lstat, realpath } from 'node:fs/promises';
import { SandboxError } from '../errors.ts';
import { isBeneath } from '../host/is-beneath.ts';
import { ignoreMissing } from './files/workspace-path.ts';

/**
 * Rejects unless the path is a directory without a link on the way. A command that can write to a directory above it could
 * otherwise put a link there, and lead the next mount anywhere.
 */
export async function assertMountable(dir: string): Promise<void> {
  const found = await ignoreMissing(realpath(dir));
  if (found === undefined) throw new SandboxError('invalid_request', `${dir} does not exist.`);
  if (found !== dir) {
    throw new SandboxError('invalid_request', `${dir} leads through a link; name the directory ${found}.`);
  }
  if ((await lstat(dir)).isDirectory()) return;
  throw new SandboxError('invalid_request', `${dir} is not a directory.`);
}

/** Rejects if the directory and one of the others have anything in common, whatever links lead to the others. */
export async function assertApart(dir: string, others: readonly string[]): Promise<void> {
  for (const other of others) {
    const real = await ignoreMissing(realpath(other));
    if (real === undefined || !(isBeneath(real, dir) || isBeneath(dir, real))) continue;
    throw new SandboxError('invalid_request', `${dir} overlaps ${other}, which no command may see.`);
  }
}
