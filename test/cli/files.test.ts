/** Uploaded files through the command. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredFile } from '@talaria/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HostedServer } from '../support/hosted-server.ts';
import { type RunOptions, talaria } from './talaria.ts';

let server: HostedServer;
let directory: string;

beforeAll(async () => {
  server = await HostedServer.start({ env: { TALARIA_MAX_FILE_BYTES: '3000000' } });
});
afterAll(() => server?.[Symbol.asyncDispose]());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
});
afterEach(async () => {
  const { stdout } = await files(['ls', '-q']);
  if (stdout !== '') await files(['rm', ...stdout.trim().split('\n')]);
  rmSync(directory, { recursive: true, force: true });
});

const files = (argv: string[], options: RunOptions = {}) =>
  talaria(server.url, ['files', ...argv], { cwd: directory, ...options });
const write = (name: string, content: string | Buffer = name): void =>
  writeFileSync(join(directory, name), content);

describe('put', () => {
  test('uploads files under their names, and prints their ids', async () => {
    write('a.txt', 'hello');
    write('früh 1.bin', randomBytes(2_000_000));
    const { code, stdout, stderr } = await files(['put', 'a.txt', './früh 1.bin']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^file-[0-9a-f]{32} {2}5 B {2}a\.txt\nfile-[0-9a-f]{32} {2}2\.0 MB {2}früh 1\.bin\n$/,
    );
    const listed = await files(['ls']);
    expect(listed.stdout).toMatch(/^FILE +SIZE +UPLOADED +NAME\n.*früh 1\.bin\n.*a\.txt\n$/);
  });

  test('takes stdin, a name and a purpose; -q prints the id, --json the file', async () => {
    const piped = await files(['put', '-', '--name', 'piped.txt', '-q'], { input: 'from a pipe' });
    expect(piped.stdout).toMatch(/^file-[0-9a-f]{32}\n$/);
    write('a.txt');
    const { stdout } = await files(['put', 'a.txt', '--name', 'b.txt', '--purpose', 'vision', '--json']);
    expect(JSON.parse(stdout) as StoredFile).toMatchObject({
      filename: 'b.txt',
      purpose: 'vision',
      bytes: 5,
    });
    expect((await files(['ls', '-q', '--purpose', 'user_data'])).stdout).toBe(piped.stdout);
  });

  test.each([
    ['a missing file', ['missing.txt'], 1, 'missing.txt cannot be read: there is no such file'],
    ['a directory', ['folder'], 1, 'folder is a directory; pack it first'],
    ['stdin without a name', ['-'], 2, 'expected --name <name> for stdin'],
    ['one name for two files', ['a.txt', 'a.txt', '--name', 'x'], 2, '--name is for one file'],
    ['a file that is too large', ['large.bin'], 1, 'A file may have at most 3000000 bytes here'],
  ])('refuses %s, and uploads nothing', async (_, argv, code, message) => {
    write('a.txt');
    write('large.bin', Buffer.alloc(3_000_001));
    mkdirSync(join(directory, 'folder'));
    const ran = await files(['put', ...argv]);
    expect(ran.stderr).toContain(message);
    expect(ran.code).toBe(code);
    expect((await files(['ls', '-q'])).stdout).toBe('');
  });
});

describe('get', () => {
  test('downloads a file under its name, and replaces nothing without --force', async () => {
    const bytes = randomBytes(1_000_000);
    write('a.bin', bytes);
    const id = (await files(['put', 'a.bin', '-q'])).stdout.trim();
    const refused = await files(['get', id]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('a.bin exists')]);
    rmSync(join(directory, 'a.bin'));
    expect((await files(['get', id.slice(0, 25)])).stdout).toBe('a.bin  1.0 MB\n');
    expect(readFileSync(join(directory, 'a.bin')).equals(bytes)).toBe(true);
    expect((await files(['get', id, '-f', '--json'])).stdout).toContain('"sha256"');
  });

  test('writes to stdout, and refuses a name that leads elsewhere', async () => {
    const id = (await files(['put', '-', '--name', 'nul', '-q'], { input: 'hello' })).stdout.trim();
    expect((await files(['get', id, '-o', '-'])).stdout).toBe('hello');
    expect((await files(['get', id])).stderr).toContain('is not a safe file name; give one with -o');
    expect((await files(['get', id, '-o', 'b.txt'])).code).toBe(0);
    expect(existsSync(join(directory, 'b.txt'))).toBe(true);
  });
});

describe('rm', () => {
  test('deletes files; a mistake in an id deletes nothing', async () => {
    write('a.txt');
    const ids = [1, 2].map(async () => (await files(['put', 'a.txt', '-q'])).stdout.trim());
    const [first, second] = (await Promise.all(ids)) as [string, string];
    const mistaken = await files(['rm', first, 'file-000000']);
    expect([mistaken.code, mistaken.stderr]).toEqual([1, expect.stringContaining('No file begins with')]);
    expect((await files(['rm', 'nothing'])).code).toBe(2);
    expect((await files(['rm', first, second])).stdout).toBe(`${first} deleted\n${second} deleted\n`);
    const { stdout, stderr } = await files(['ls']);
    expect([stdout, stderr]).toEqual(['', 'No files; talaria files put uploads one\n']);
  });
});
