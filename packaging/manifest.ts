/**
 * The package.json of a published package, from the one in the repository. There the exports are the sources, which
 * Node 24 runs as they are; what is published is built for Node 20 and browsers.
 */
export interface Manifest {
  exports: Record<string, string>;
  scripts?: Record<string, string>;
  [field: string]: unknown;
}

export function toPublished({ scripts: _, ...manifest }: Manifest): object {
  const exports = Object.entries(manifest.exports).map(([name, source]) => {
    const built = source.replace(/^\.\/src\//, './dist/');
    return [
      name,
      { types: built.replace(/\.ts$/, '.d.ts'), default: built.replace(/\.ts$/, '.js') },
    ] as const;
  });
  return { ...manifest, exports: Object.fromEntries(exports), files: ['dist'] };
}
