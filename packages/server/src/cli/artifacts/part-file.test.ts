import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { PartFile } from './part-file.ts';

const content = Buffer.from('0123456789');
const digest = createHash('sha256').update(content).digest('hex');

function destination(): string {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'file');
}

const open = (path: string, of = digest) => PartFile.open(path, of, content.length);

it('continues an unfinished download, and checks the whole file', async () => {
  const path = destination();
  {
    await using first = await open(path);
    await first.write(content.subarray(0, 4));
  }
  await using second = await open(path);
  expect(second.size).toBe(4);
  await second.write(content.subarray(4));
  expect(second.digest()).toBe(digest);
  await second.moveToPlace(false);
  expect(readFileSync(path)).toEqual(content);
  expect(readdirSync(join(path, '..'))).toEqual(['file']);
});

it('does not continue a download of another version', async () => {
  const path = destination();
  {
    await using first = await open(path);
    await first.write(content.subarray(0, 4));
  }
  await using second = await open(path, 'f'.repeat(64));
  expect(second.size).toBe(0);
});

it('starts over with more bytes than there are, or with an unknown version', async () => {
  const path = destination();
  {
    await using first = await open(path);
    await first.write(Buffer.alloc(50));
  }
  await using second = await open(path);
  expect(second.size).toBe(0);
  {
    await using unknown = await PartFile.open(path, undefined, undefined);
    await unknown.write(content);
  }
  await using again = await PartFile.open(path, undefined, undefined);
  expect(again.size).toBe(0);
});

it('does not replace a file that somebody created meanwhile', async () => {
  const path = destination();
  await using part = await open(path);
  await part.write(content);
  writeFileSync(path, 'mine');
  await expect(part.moveToPlace(false)).rejects.toThrow(/EEXIST/);
  expect(readFileSync(path, 'utf8')).toBe('mine');
  await part.moveToPlace(true);
  expect(readFileSync(path)).toEqual(content);
});

it('does not follow a link in its place', async () => {
  const path = destination();
  const target = join(path, '..', 'target');
  symlinkSync(target, `${path}.${digest.slice(0, 12)}.part`);
  await expect(open(path)).rejects.toMatchObject({ code: 'ELOOP' });
});
