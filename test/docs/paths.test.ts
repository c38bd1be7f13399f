/**
 * Paths in the documents exist: every relative link with its anchor, and every file or folder of the repository that is
 * named as code.
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const documents = globSync(
  ['*.md', 'docs/**/*.md', 'examples/*.md', 'packages/*/README.md', 'packages/*/src/**/*.md'],
  {
    cwd: root,
  },
).toSorted();

/** ARCHITECTURE.md leaves out the common prefix of nearly all of its paths. */
const ROOTS = ['', 'packages', 'packages/server/src'];

/** The first segment decides whether code is a path: `openai/gpt-5` and `text/plain` are not. */
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

function namedPaths(text: string): string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+)\/?`/g)]
    .map(([, path]) => path!)
    .filter((path) => FOLDERS.has(path.split('/')[0]!));
}

test('there are documents with links and paths', () => {
  const texts = documents.map(read);
  expect(texts.flatMap(links).length).toBeGreaterThan(50);
  expect(namedPaths(read('ARCHITECTURE.md')).length).toBeGreaterThan(50);
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
    const folders = [...ROOTS, dirname(document)];
    const missing = namedPaths(text).filter(
      (path) => !folders.some((folder) => existsSync(join(root, folder, path))),
    );
    expect(missing).toEqual([]);
  });
});
