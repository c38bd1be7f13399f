/**
 * Which files of a directory belong to the project in it, in no order. In a repository git decides, where it is
 * installed; elsewhere the `.gitignore` files do. `.git` itself never belongs to it.
 */
import { gitFiles } from './git-files.ts';
import { GitIgnore } from './gitignore.ts';
import { type Walked, walkFiles } from './walk-files.ts';

/** An entry may be missing on the disk; one that is a directory is another repository. */
export async function* projectFiles(directory: string): AsyncGenerator<Walked, void> {
  const known = await gitFiles(directory);
  // A directory that the repository around it ignores has files, but none for git.
  if (known !== undefined && known.size > 0) for (const path of known) yield { path, kind: 'entry' };
  else yield* walkFiles(directory, await GitIgnore.of(directory));
}
