import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Digests } from './digests.ts';

const directory = mkdtempSync(join(tmpdir(), 'talaria-digests-'));
afterAll(() => rmSync(directory, { recursive: true }));

const path = join(directory, 'file');
const BYTES = 20_000_000;
writeFileSync(path, '');
truncateSync(path, BYTES);
const expected = createHash('sha256').update(readFileSync(path)).digest('hex');

async function ask(digests: Digests, signal?: AbortSignal): Promise<string> {
  await using file = await open(path);
  return await digests.of(file, await file.stat({ bigint: true }), 'file', signal);
}

test('a caller that leaves does not take the answer from the others', async () => {
  const digests = new Digests();
  const leaving = new AbortController();
  const asked = [ask(digests, leaving.signal), ask(digests), ask(digests)];
  setTimeout(() => leaving.abort(), 5);
  await expect(asked[0]).rejects.toThrow();
  expect(await Promise.all(asked.slice(1))).toEqual([expected, expected]);
});

test('a caller that comes right after the last one left gets an answer', async () => {
  const digests = new Digests();
  for (let i = 0; i < 20; i++) {
    const leaving = new AbortController();
    const left = ask(digests, leaving.signal);
    setTimeout(() => leaving.abort(), i);
    await left.catch(() => {});
    if (i % 5 === 0) expect(await ask(digests)).toBe(expected);
  }
  expect(await ask(digests)).toBe(expected);
});

test('a file that is closed while its digest is computed gives its own digest or none', async () => {
  const digests = new Digests();
  for (let i = 0; i < 20; i++) {
    const file = await open(path);
    const asked = digests.of(file, await file.stat({ bigint: true }), 'file').catch(() => expected);
    await file.close();
    // Takes the number that has become free.
    await using _ = await open('/etc/passwd');
    expect(await asked).toBe(expected);
  }
});
