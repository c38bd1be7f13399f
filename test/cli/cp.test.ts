/** `talaria cp`: files and directories, both ways, with a real server. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { terminal as bash, ServerWithModel, waitForStatus } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { type RunOptions, talaria } from './talaria.ts';

/** A repository, and then directories, a program, a link, an empty directory and a bad name. */
const GIT = { files: [{ path: 'out/.git/config', content: 'config\n' }] };
const MAKE = `
mkdir -p out/deep out/empty
echo report > out/report.txt
echo x > out/deep/x
printf '#!/bin/sh\\n' > out/run; chmod 755 out/run
ln -s report.txt out/link
echo b > "$(printf 'out/bad\\377')"`;

let world: ServerWithModel;
let runId: string;
let directory: string;

beforeAll(async () => {
  world = await ServerWithModel.start();
  runId = await world.api.create(script([{ tools: [bash(MAKE)] }, { text: 'done' }]), { workspace: GIT });
  await waitForStatus(world.api, runId, 'completed');
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const cp = (from: string, to: string, flags: string[] = [], options: RunOptions = {}) =>
  talaria(world.server.url, ['cp', from, to, ...flags], { cwd: directory, ...options });
const inRun = (path: string): string => `${runId}:${path}`;
const here = (path: string): string => readFileSync(join(directory, path), 'utf8');
const there = (path: string): string => readFileSync(world.workspaceFile(runId, path), 'utf8');

describe('from a run', () => {
  test('a file goes into a directory under its name, or under another', async () => {
    expect(await cp(inRun('out/report.txt'), '.')).toEqual({
      code: 0,
      stdout: 'report.txt  7 B\n',
      stderr: '',
    });
    expect(await cp(inRun('/workspace/out/report.txt'), 'other.txt')).toMatchObject({ code: 0 });
    expect([here('report.txt'), here('other.txt')]).toEqual(['report\n', 'report\n']);
  });

  test('a file replaces nothing without --force', async () => {
    writeFileSync(join(directory, 'report.txt'), 'mine');
    expect(await cp(inRun('out/report.txt'), '.')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('report.txt exists; --force replaces it'),
    });
    expect(here('report.txt')).toBe('mine');
    expect(await cp(inRun('out/report.txt'), '.', ['--force'])).toMatchObject({ code: 0 });
    expect(here('report.txt')).toBe('report\n');
  });

  test('a directory arrives with all files, programs and empty directories, but without .git and links', async () => {
    const { code, stdout, stderr } = await cp(inRun('out'), '.');
    expect([code, stdout]).toEqual([0, 'out  3 files, 19 B\n']);
    // In the order in which the archive has them.
    expect(stderr.split('\n').toSorted()).toEqual(
      'Left out (in .git, which is never written): out/.git, out/.git/config\nLeft out (a name that is not UTF-8): out/bad\ufffd\n'
        .split('\n')
        .toSorted(),
    );
    expect(readdirSync(join(directory, 'out')).sort()).toEqual(['deep', 'empty', 'report.txt', 'run']);
    expect(statSync(join(directory, 'out/run')).mode & 0o111).not.toBe(0);
    expect(statSync(join(directory, 'out/report.txt')).mode & 0o111).toBe(0);
    expect(readdirSync(directory)).toEqual(['out']);
  });

  test('a directory becomes one that does not exist, and the workspace goes into one that does', async () => {
    expect(await cp(inRun('out/deep'), 'new')).toMatchObject({ code: 0, stdout: 'new  2 B\n' });
    expect(here('new/x')).toBe('x\n');
    mkdirSync(join(directory, 'all'));
    expect(await cp(inRun('.'), 'all', ['--json'])).toMatchObject({ code: 0 });
    expect(here('all/out/deep/x')).toBe('x\n');
  });

  test('a directory replaces nothing without --force, and then nothing is copied', async () => {
    mkdirSync(join(directory, 'out/deep'), { recursive: true });
    writeFileSync(join(directory, 'out/deep/x'), 'mine');
    expect(await cp(inRun('out'), '.')).toMatchObject({
      code: 1,
      stderr: 'out/deep/x exists; --force replaces it. Nothing was copied\n',
    });
    expect(execFileSync('find', ['.', '-type', 'f'], { cwd: directory }).toString()).toBe('./out/deep/x\n');
    expect(await cp(inRun('out'), '.', ['-f'])).toMatchObject({ code: 0 });
    expect(here('out/deep/x')).toBe('x\n');
  });

  test('a directory is not written through a link', async () => {
    execFileSync('bash', ['-c', 'mkdir elsewhere out; ln -s ../elsewhere out/deep'], { cwd: directory });
    expect(await cp(inRun('out'), '.', ['-f'])).toMatchObject({
      code: 1,
      stderr: 'out/deep is in the way. Nothing was copied\n',
    });
    expect(readdirSync(join(directory, 'elsewhere'))).toEqual([]);
  });

  test('a file in the place of an empty directory is in the way, and then nothing is copied', async () => {
    mkdirSync(join(directory, 'out'));
    writeFileSync(join(directory, 'out/empty'), 'mine');
    expect(await cp(inRun('out'), '.', ['-f'])).toMatchObject({
      code: 1,
      stderr: 'out/empty is in the way. Nothing was copied\n',
    });
    expect(readdirSync(join(directory, 'out'))).toEqual(['empty']);
  });

  test.each([
    ['nothing', '.', 'artifact_not_found'],
    ['../talaria.db', '.', 'invalid_path'],
    ['out/link', '.', 'invalid_path'],
    ['out', 'no/such/directory', 'no/such is not a directory'],
  ])('%s to %s is refused: %s', async (from, to, message) => {
    expect(await cp(inRun(from), to)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    expect(readdirSync(directory)).toEqual([]);
  });
});

test('- is neither a file nor a stream, and a file of that name has a path', async () => {
  const out = await cp(inRun('out/report.txt'), '-');
  expect(out).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('talaria artifacts cat prints a file'),
  });
  expect(await cp('-', inRun('out'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('stdin cannot be copied'),
  });
  expect(readdirSync(directory)).toEqual([]);
  expect(await cp(inRun('out/report.txt'), './-')).toMatchObject({ code: 0 });
  expect(here('-')).toBe('report\n');
});

describe('to a run', () => {
  test('a file goes into a directory under its name, or under another', async () => {
    const bytes = randomBytes(3_000_000);
    writeFileSync(join(directory, 'data.bin'), bytes);
    expect(await cp('data.bin', inRun('out'))).toEqual({
      code: 0,
      stdout: `${runId}:out/data.bin  3.0 MB\n`,
      stderr: '',
    });
    expect(readFileSync(world.workspaceFile(runId, 'out/data.bin')).equals(bytes)).toBe(true);
    for (const [to, path] of [
      ['', 'data.bin'],
      ['fresh/', 'fresh/data.bin'],
      ['other', 'other'],
    ] as const) {
      expect(await cp('data.bin', inRun(to))).toMatchObject({ code: 0 });
      expect(existsSync(world.workspaceFile(runId, path))).toBe(true);
    }
  });

  test('a file replaces nothing without --force', async () => {
    writeFileSync(join(directory, 'new.txt'), 'new');
    expect(await cp('new.txt', inRun('out/report.txt'))).toMatchObject({
      code: 1,
      stderr: 'out/report.txt exists in the run; --force replaces it.\n',
    });
    expect(there('out/report.txt')).toBe('report\n');
    expect(await cp('new.txt', inRun('out/report.txt'), ['-f'])).toMatchObject({ code: 0 });
    expect(there('out/report.txt')).toBe('new');
  });

  test('a directory goes without what is ignored, and says what else stays', async () => {
    const make =
      'mkdir -p d/e; echo x > d/e/x; echo y > d/y; echo skip > d/.gitignore; echo s > d/skip; ln -s y d/link';
    execFileSync('bash', ['-ec', make], { cwd: directory });
    expect(await cp('d', inRun('in'))).toEqual({
      code: 0,
      stdout: `${runId}:in  3 files, 9 B\n`,
      stderr: 'Left out (a link): link\n',
    });
    expect([there('in/e/x'), there('in/y')]).toEqual(['x\n', 'y\n']);
    expect(readdirSync(world.workspaceFile(runId, 'in')).sort()).toEqual(['.gitignore', 'e', 'y']);
    expect(await cp('d', inRun('in'))).toMatchObject({ code: 0, stdout: `${runId}:in/d  3 files, 9 B\n` });
    expect(await cp('d/.', inRun('in'))).toMatchObject({
      code: 1,
      stderr: 'in/.gitignore exists in the run; --force replaces it. Copied 0 of 3 files\n',
    });
  });

  test.each([
    ['missing', 'x', 1, 'missing cannot be read: there is no such file'],
    ['file', '../x', 1, 'invalid_path'],
    ['file', '.', 0, ''],
  ])('%s to %s ends with %i', async (from, to, code, message) => {
    writeFileSync(join(directory, 'file'), 'x');
    const ran = await cp(from, inRun(to));
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});

test('one side must be of a run, and the other of this machine', async () => {
  for (const [from, to] of [
    ['a', 'b'],
    [inRun('a'), inRun('b')],
  ] as const) {
    expect(await cp(from, to)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('one side must be of a run and the other of this machine'),
    });
  }
});
