/** What is at a path of a tree: in the run at its start, in the run now, or in the directory of the user. */
export type Entry =
  | { readonly type: 'none' }
  | { readonly type: 'file'; readonly sha256: string; readonly executable: boolean }
  | { readonly type: 'symlink'; readonly target: string };

export const NONE: Entry = { type: 'none' };

/** Whether they say the same, apart from whether a file can be executed. */
export function isSameContent(one: Entry, other: Entry): boolean {
  if (one.type === 'file') return other.type === 'file' && one.sha256 === other.sha256;
  if (one.type === 'symlink') return other.type === 'symlink' && one.target === other.target;
  return other.type === 'none';
}
