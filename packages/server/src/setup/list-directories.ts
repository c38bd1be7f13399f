/** The operator's directories as clients see them: without their paths. */
import type { Directory } from '@talaria/protocol';
import { directoryFingerprint } from '../basics/directory-fingerprint.ts';
import type { OperatorDirectory } from '../config/index.ts';
import { isAllowed } from './directory-mounts.ts';

export function listDirectories(
  directories: readonly OperatorDirectory[],
  owner: string,
): Promise<Directory[]> {
  const allowed = directories.filter((directory) => isAllowed(directory, owner));
  return Promise.all(
    allowed.map(async ({ name, mode, path }) => ({
      object: 'directory' as const,
      name,
      mode,
      fingerprint: mode === 'mount' ? ((await directoryFingerprint(path)) ?? null) : null,
    })),
  );
}
