import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDirectory } from './make-directory.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'talaria-directory-'));
});
afterEach(() => rmSync(base, { recursive: true }));

test('creates the directory with its parents for this user only, and leaves an existing one', () => {
  const path = join(base, 'a', 'b', 'c');
  makeDirectory(path);
  makeDirectory(path);
  expect(statSync(path).isDirectory()).toBe(true);
  expect(statSync(join(base, 'a')).mode & 0o777).toBe(0o700);
});

test('under a file it is an error', () => {
  writeFileSync(join(base, 'file'), '');
  const path = join(base, 'file');
  const refusal = expect.objectContaining({ code: 'ENOTDIR', path });
  expect(() => makeDirectory(path)).toThrow(refusal);
  expect(() => makeDirectory(join(path, 'a'))).toThrow(refusal);
});

test.skipIf(process.platform !== 'linux')(
  'fails with the reason where nothing can be created, and does not hang',
  () => {
    expect(() => makeDirectory('/proc/talaria/data')).toThrow(/ENOENT|EACCES|EPERM/);
  },
);
