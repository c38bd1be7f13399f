/**
 * Paths in the documents exist: every relative link with its anchor, and every file or folder of the repository that is
 * named as code.
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const documents = globSync(
  [
    ...['*.md', 'docs/**/*.md', 'examples/*.md', 'clients/*/README.md'],
    ...['packages/*/README.md', 'packages/*/src/**/*.md'],
  ],
  { cwd: root },
).toSorted();

/** ARCHITECTURE.md leaves out the common prefix of nearly all of its paths. */
const ROOTS = ['', 'packages', 'packages/server/src'];

/** Files of users and of runs, and a name that many folders have. */
const EXCEPTIONS = new Set(['config.json', 'talaria.json', 'workspaces/', 'testing/']);

/** A document may name a file without its folder. */
const FILE_NAMES = new Set(
  globSync('**/*.{ts,tsx,md,json,svg}', {
    cwd: root,
    exclude: (path) => ['node_modules', 'dist', '.git'].includes(basename(path)),
  }).map((path) => basename(path)),
);

/** The first segment decides whether code without an extension is a path: `openai/gpt-5` and `text/plain` are not. */
const FOLDERS = new Set(
  ROOTS.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
      .map((entry) => entry.name),
  ),
);

function read(document: string): string {
  return readFileSync(join(root, document), 'utf8');
}

function links(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)|<img src="([^"]+)"/g)]
    .map(([, link, image]) => link ?? image!)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** GitHub's anchors of headings. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Of a command its last argument counts. Absolute paths are not of the repository. */
function namedPaths(text: string): string[] {
  const inProse = text.replace(/^```.*?^```/gms, '');
  const lastWords = [...inProse.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!.split(/[ =]/).at(-1)!);
  return lastWords.filter((word) => {
    if (/^[\w.][\w./-]*\w(\.(tsx?|md|json|svg)|\/)$/.test(word)) return !EXCEPTIONS.has(word);
    return /^[\w.-]+(\/[\w.-]+)+$/.test(word) && FOLDERS.has(word.split('/')[0]!);
  });
}

function exists(path: string, document: string): boolean {
  if (!path.includes('/')) return FILE_NAMES.has(path);
  return [...ROOTS, dirname(document)].some((folder) => existsSync(join(root, folder, path)));
}

test('there are documents with links and paths', () => {
  const texts = documents.map(read);
  expect(texts.flatMap(links).length).toBeGreaterThan(50);
  expect(namedPaths(read('ARCHITECTURE.md')).length).toBeGreaterThan(50);
});

test.each([
  ['`entry/filter.ts`', ['entry/filter.ts']],
  ['`../none/`, `none.svg` and `npx vitest run none/a.test.ts`', ['../none/', 'none.svg', 'none/a.test.ts']],
  ['`/etc/docker/daemon.json`, `*.contract.ts`, `.ts`, `config.json`, `openai/gpt-5`', []],
])('of %s these are paths: %j', (text, paths) => {
  expect(namedPaths(text)).toEqual(paths);
  expect(paths.filter((path) => exists(path, 'packages/sandbox/src/local/HOW_IT_WORKS.md'))).toEqual([]);
});

describe.each(documents)('%s', (document) => {
  const text = read(document);

  test('has no dead link', () => {
    const dead = links(text).filter((link) => {
      const [path, anchor] = link.split('#') as [string, string | undefined];
      const target = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchors(read(target)).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  test('names no file or folder that does not exist', () => {
    expect(namedPaths(text).filter((path) => !exists(path, document))).toEqual([]);
  });
});
