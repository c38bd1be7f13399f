import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeTree } from './remove-tree.ts';

/** A tree to delete, and a directory beside it that must stay as it is. */
function temporary() {
  const base = mkdtempSync(join(tmpdir(), 'talaria-remove-test-'));
  onTestFinished(() => rmSync(base, { recursive: true }));
  const [tree, beside] = [join(base, 'tree'), join(base, 'beside')];
  for (const dir of [tree, beside]) mkdirSync(dir);
  writeFileSync(join(beside, 'file'), '');
  return { tree, beside };
}

test.each<[string, (tree: string, beside: string) => void]>([
  ['an empty directory', () => {}],
  ['a few files', (tree) => fill(tree, 3)],
  ['a hundred files', (tree) => fill(tree, 100)],
  ['an empty directory in it', (tree) => mkdirSync(join(tree, 'empty'))],
  [
    'full directories in it',
    (tree) => {
      mkdirSync(join(tree, 'a/b'), { recursive: true });
      for (const dir of ['', 'a', 'a/b']) fill(join(tree, dir), 3);
    },
  ],
  [
    'links to a directory and to a file',
    (tree, beside) => {
      symlinkSync(beside, join(tree, 'directory'));
      symlinkSync(join(beside, 'file'), join(tree, 'file'));
    },
  ],
  [
    'a directory without permissions',
    (tree) => {
      mkdirSync(join(tree, 'closed'));
      fill(join(tree, 'closed'), 1);
      chmodSync(join(tree, 'closed'), 0);
    },
  ],
  ['a pipe', (tree) => execFileSync('mkfifo', [join(tree, 'pipe')])],
])('deletes %s, and nothing beside it', async (_, make) => {
  const { tree, beside } = temporary();
  make(tree, beside);
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
  expect(readdirSync(beside)).toEqual(['file']);
});

test('a link is deleted and not its target, and so is a single file', async () => {
  const { tree, beside } = temporary();
  const [link, file] = [join(tree, 'link'), join(tree, 'file')];
  symlinkSync(beside, link);
  writeFileSync(file, '');
  await removeTree(link, file, join(tree, 'missing'));
  expect(readdirSync(tree)).toEqual([]);
  expect(readdirSync(beside)).toEqual(['file']);
});

function fill(dir: string, files: number): void {
  for (let index = 0; index < files; index++) writeFileSync(join(dir, `file${index}`), '');
}
