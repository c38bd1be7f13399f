import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { between, cyclesIn, importsBetween } from './import-graph.ts';

/** The graph of these files, with names without the directory they are in. */
function graphOf(sources: Record<string, string>, types = true) {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-graph-'));
  try {
    const paths = Object.entries(sources).map(([name, text]) => {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    });
    const short = (path: string) => path.slice(directory.length + 1);
    return new Map(
      [...importsBetween(paths, { types })].map(([from, to]) => [short(from), new Set([...to].map(short))]),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const FILES = {
  'a/one.ts': "import type { Two } from '../b/two.ts';\nimport 'node:fs';",
  'b/two.ts': "export async function load() {\n  return import('./three.ts');\n}",
  'b/three.ts': "export {\n  one,\n} from '../a/four.ts';",
  'a/four.ts': '',
};

test('types, loads and multi-line imports are found; other modules are not', () => {
  expect(Object.fromEntries([...graphOf(FILES)].map(([from, to]) => [from, [...to]]))).toEqual({
    'a/one.ts': ['b/two.ts'],
    'b/two.ts': ['b/three.ts'],
    'b/three.ts': ['a/four.ts'],
    'a/four.ts': [],
  });
});

test('folders can import each other where files do not', () => {
  const files = graphOf(FILES);
  expect(cyclesIn(files)).toEqual([]);
  expect(cyclesIn(between(files, (file) => dirname(file)))).toEqual([['a', 'b']]);
});

test('types can be left out', () => {
  expect([...graphOf(FILES, false).get('a/one.ts')!]).toEqual([]);
});

test('a cycle of files is named once, without those that only lead to it', () => {
  const files = graphOf({ ...FILES, 'a/four.ts': "import '../b/two.ts';" });
  expect(cyclesIn(files)).toEqual([['a/four.ts', 'b/three.ts', 'b/two.ts']]);
});
