/** Sizes and counts beyond the first fields of the formats: real files would be too large for a test. */
import { spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, expect, test } from 'vitest';
import { tarGz } from './archive.ts';
import type { ArchiveEntry, TreeEntry } from './archive-entry.ts';
import { tarHeader } from './tar.ts';
import { zip, zipName } from './zip.ts';

const directory = mkdtempSync(join(tmpdir(), 'talaria-formats-'));
afterAll(() => rmSync(directory, { recursive: true }));

const has = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

function entry(name: string, size = 0, type: ArchiveEntry['type'] = 'file'): ArchiveEntry {
  return {
    name: Buffer.from(name),
    type,
    size,
    mode: 0o644,
    modifiedMs: 1_500_000_000_000,
    async *content() {
      yield Buffer.from('only this');
    },
  };
}

async function zipFile(entries: Iterable<ArchiveEntry>): Promise<string> {
  const chunks: Buffer[] = [];
  const each = async function* () {
    yield* entries;
  };
  for await (const chunk of zip(each())) chunks.push(chunk);
  const path = join(directory, 'file.zip');
  writeFileSync(path, Buffer.concat(chunks));
  return path;
}

test('tar reads sizes over 8 GiB and names over 100 bytes', () => {
  const path = join(directory, 'file.tar');
  const name = `${'d'.repeat(150)}/${'f'.repeat(150)}`;
  writeFileSync(path, tarHeader(entry(name, 9_000_000_000_000)));
  const { stdout } = spawnSync('tar', ['-tvf', path], { encoding: 'utf8' });
  expect(stdout).toContain(' 9000000000000 ');
  expect(stdout).toContain(name);
});

test('tar reads links with targets of any length, between files', async () => {
  const path = join(directory, 'links.tar.gz');
  const link = (name: string, target: string): TreeEntry => ({
    ...entry(name),
    type: 'symlink',
    size: target.length,
    async *content() {
      yield Buffer.from(target);
    },
  });
  const long = `${'t'.repeat(99)}/${'u'.repeat(99)}`;
  const entries = async function* () {
    yield link('short', 'file');
    yield entry('file', 'only this'.length);
    yield link('l'.repeat(120), long);
    yield entry('last', 'only this'.length);
  };
  await pipeline(tarGz(entries()), createWriteStream(path));
  const { stdout } = spawnSync('tar', ['-tvzf', path], { encoding: 'utf8' });
  const names = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^.*\d\d:\d\d /, ''));
  expect(names).toEqual(['short -> file', 'file', `${'l'.repeat(120)} -> ${long}`, 'last']);
  expect(spawnSync('tar', ['-xzOf', path, 'last'], { encoding: 'utf8' }).stdout).toBe('only this');
});

test.skipIf(!has('unzip'))('unzip reads sizes over 4 GiB', async () => {
  const path = await zipFile([entry('before'), entry('huge', 5_000_000_000), entry('after')]);
  const { stdout } = spawnSync('unzip', ['-l', path], { encoding: 'utf8' });
  expect(stdout).toMatch(/5000000000 .* huge/);
  expect(spawnSync('unzip', ['-p', path, 'after'], { encoding: 'utf8' }).stdout).toBe('only this');
});

test.skipIf(!has('unzip'))('unzip reads more than 65 535 entries', { tags: ['soak'] }, async () => {
  const count = 66_000;
  const path = await zipFile(Array.from({ length: count }, (_, i) => entry(`${i}`, 0, 'directory')));
  const { stdout } = spawnSync('unzip', ['-Z1', path], { encoding: 'utf8', maxBuffer: 1e8 });
  expect(stdout.trimEnd().split('\n')).toHaveLength(count);
});

test.each([
  ['plain name.txt', 'plain name.txt'],
  ['日本', '日本'],
  ['C:\\Windows', 'C%3A%5CWindows'],
  ['10:30.log', '10:30.log'],
  ['a/..\\..\\b', 'a/..%5C..%5Cb'],
  ['line\nend', 'line%0Aend'],
])('the name %j in a zip is safe', (name, expected) => {
  expect(zipName({ name: Buffer.from(name), type: 'file' }).toString()).toBe(expected);
});

test('bytes that are not UTF-8 in a zip are written as %XX', () => {
  const name = Buffer.from([0x61, 0xff, 0x62]);
  expect(zipName({ name, type: 'directory' }).toString()).toBe('a%FFb/');
});
