/** Whether a path is this directory or in it. Of real paths: links are not followed. */
export function isBeneath(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith('/') ? dir : `${dir}/`);
}
