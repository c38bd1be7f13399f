/**
 * The package.json of a published package, from the one in the repository. There the modules it names are the sources,
 * which Node 24 runs as they are, though not inside `node_modules`; what is published is built.
 */
export interface Manifest {
  exports: Entries;
  imports?: Entries;
  scripts?: Record<string, string>;
  [field: string]: unknown;
}

type Entries = Record<string, string>;

export function toPublished({ scripts: _, exports, imports, ...manifest }: Manifest): object {
  const inside = imports === undefined ? {} : { imports: toBuilt(imports) };
  return { ...manifest, exports: toBuilt(exports), ...inside, files: ['dist'] };
}

function toBuilt(entries: Entries): object {
  const built = Object.entries(entries).map(([name, source]) => {
    const path = source.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, '');
    return [name, { types: `${path}.d.ts`, default: `${path}.js` }] as const;
  });
  return Object.fromEntries(built);
}
