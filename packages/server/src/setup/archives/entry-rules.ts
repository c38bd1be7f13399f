/** Rules for archive entries, shared by packer and reader. */

export const PATH_BYTES_MAX = 4095;

/** Names in a path. */
export const DEPTH_MAX = 100;

/** Whether a link at this path leads out of the tree, if nothing on the way is a link. An absolute path does. */
export function leadsOut(path: string, target: string): boolean {
  if (target.startsWith('/')) return true;
  let depth = path.split('/').length - 1;
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue;
    depth += name === '..' ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}
