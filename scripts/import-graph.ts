/** Which file imports which, and the folders that follow from it. */
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Each name's neighbours. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

const IMPORTED = /(?:^(?:import|export) (type )?(?:[^';]*? from )?|\bimport\()'(\.[^']+)'/gm;

/**
 * `files` are paths from the current directory; imports of other files are left out, and optionally imports of types.
 */
export function importsBetween(files: readonly string[], { types }: { types: boolean }): Graph {
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const imported = [...readFileSync(file, 'utf8').matchAll(IMPORTED)];
      const paths = imported
        .filter(([, type]) => types || type === undefined)
        .map(([, , path]) => normalize(join(dirname(file), path!)));
      return [file, new Set(paths.filter((path) => known.has(path)))];
    }),
  );
}

/** The same between groups of files; imports within a group are left out. */
export function between(files: Graph, groupOf: (file: string) => string): Graph {
  const groups = new Map<string, Set<string>>();
  for (const [file, imported] of files) {
    const from = groupOf(file);
    const to = groups.get(from) ?? new Set();
    groups.set(from, to);
    for (const group of [...imported].map(groupOf)) if (group !== from) to.add(group);
  }
  return groups;
}

/** Groups that reach each other, each cycle once. */
export function cyclesIn(graph: Graph): string[][] {
  const reached = new Map([...graph.keys()].map((name) => [name, reachedFrom(graph, name)]));
  const cycles = new Map<string, string[]>();
  for (const [name, others] of reached) {
    if (!others.has(name)) continue;
    const members = [...others].filter((other) => reached.get(other)?.has(name)).sort();
    cycles.set(members.join(), members);
  }
  return [...cycles.values()];
}

function reachedFrom(graph: Graph, start: string): Set<string> {
  const reached = new Set<string>();
  const open = [...(graph.get(start) ?? [])];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    open.push(...(graph.get(name) ?? []));
  }
  return reached;
}
