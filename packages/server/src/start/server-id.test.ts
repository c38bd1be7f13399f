import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readServerId } from './server-id.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'talaria-id-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it('is created once per data directory', () => {
  const id = readServerId(dir);
  expect(id).toMatch(/^server_[0-9a-f]{32}$/);
  expect(readServerId(dir)).toBe(id);
  rmSync(join(dir, 'server-id'));
  expect(readServerId(dir)).not.toBe(id);
});

it('is created again if the file was cut off', () => {
  writeFileSync(join(dir, 'server-id'), '');
  expect(readServerId(dir)).toBe(readServerId(dir));
});

it('is not guessed from a file with other content', () => {
  writeFileSync(join(dir, 'server-id'), 'server_7');
  expect(() => readServerId(dir)).toThrow(/server-id does not contain a server id; delete it/);
});
