/** True for the directory itself and for every path in it. It follows no links, so both must be real paths. */
export function isBeneath(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith('/') ? dir : `${dir}/`);
}
