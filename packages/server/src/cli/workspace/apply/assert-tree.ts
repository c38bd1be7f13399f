/**
 * Checks that the paths of an answer can be those of one tree: each comes once, and what a path lies below is nothing but
 * directories. No server sends anything else. With a link and a path below it, a file would be written wherever the link leads.
 */
import type { ChangedFile } from '@talaria/client';
import { CommandError } from '../../command-error.ts';
import { shownPath } from '../../text/shown-path.ts';

export function assertTree(files: readonly Pick<ChangedFile, 'path' | 'status'>[]): void {
  const paths = new Set<string>();
  const kept = new Set<string>();
  for (const { path, status } of files) {
    if (paths.has(path)) throw new CommandError(`The server names a path twice: ${shownPath(path)}`);
    paths.add(path);
    if (status !== 'deleted') kept.add(path);
  }
  for (const path of kept) {
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      const above = path.slice(0, end);
      if (!kept.has(above)) continue;
      throw new CommandError(
        `The server names ${shownPath(path)}, which lies below ${shownPath(above)}: that is no directory`,
      );
    }
  }
}
