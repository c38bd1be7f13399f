/**
 * What keeps a path of a run from being taken over. A command made up the path, so it is checked before anything is done
 * with it:
 *
 * - `outside`: it is absolute, or has `..` in it. No honest server sends that, so nothing else that this one says is
 *   believed either.
 * - `git`: it is in a `.git`, also in spellings that some file systems take for it. A run that writes there can make git
 *   run programs.
 * - `unnamed`: its name is not UTF-8, and the server shows it with U+FFFD. It cannot be asked for.
 */
export type PathProblem = 'outside' | 'git' | 'unnamed';

/** For people. */
export const WHY_LEFT_OUT = {
  git: 'in .git, which is never written',
  unnamed: 'a name that is not UTF-8',
} as const;

export function pathProblem(path: string): PathProblem | undefined {
  const names = path.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..') || path.includes('\0')) {
    return 'outside';
  }
  if (names.some(isGit)) return 'git';
  return path.includes('\ufffd') ? 'unnamed' : undefined;
}

/** HFS+ ignores invisible characters, NTFS ignores dots and blanks at the end, and both ignore case. */
function isGit(name: string): boolean {
  const plain = name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/[. ]+$/, '')
    .toLowerCase();
  return plain === '.git' || plain === 'git~1';
}
