import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeDirectory } from './temporary-files.ts';

const mayMount = process.getuid?.() === 0;

test.skipIf(!mayMount)('mounts that a killed daemon left do not keep a directory (needs root)', () => {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-mounts-'));
  for (const name of ['data', 'data/inner']) {
    mkdirSync(join(directory, name), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(directory, name)]);
  }
  removeDirectory(directory);
  expect(existsSync(directory)).toBe(false);
});
