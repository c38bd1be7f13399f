/** Files as a tree shows them: what is in a directory directly follows it. */
export function inTreeOrder<T extends { path: string }>(files: readonly T[]): T[] {
  return files
    .map((file) => ({ file, parts: file.path.split('/') }))
    .sort((a, b) => compare(a.parts, b.parts))
    .map(({ file }) => file);
}

function compare(a: readonly string[], b: readonly string[]): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    if (a[at] !== b[at]) return a[at]! < b[at]! ? -1 : 1;
  }
  return a.length - b.length;
}
