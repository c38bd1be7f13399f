/** `talaria run --mount`: a run works in a directory of this machine itself, if the server allows it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HostedServer } from '../support/hosted-server.ts';
import { ProjectDirectory } from '../support/project-directory.ts';
import { talaria } from './talaria.ts';

let project: ProjectDirectory;
let server: HostedServer;
beforeAll(async () => {
  project = new ProjectDirectory({ 'a.txt': 'one\n', 'deep/er/b.txt': 'two\n' });
  server = await HostedServer.start({ env: project.setting });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  project[Symbol.dispose]();
});

const run = (cwd: string, ...argv: string[]) => talaria(server.url, ['run', ...argv], { cwd });

test('it works in the directory and shows what changed, which needs no taking', async () => {
  const { code, stdout, stderr } = await run(project.path, '--mount', '.', 'Do `echo more >> a.txt; ls`');
  expect(code).toBe(0);
  expect(stdout).toContain('a.txt\ndeep\n');
  expect(stderr).toContain('M +1  a.txt\n');
  expect(stderr).toContain('See it: talaria diff run_');
  expect(stderr).not.toContain('talaria apply');
  expect(readFileSync(join(project.path, 'a.txt'), 'utf8')).toBe('one\nmore\n');
});

test('below the directory, the run works in all of it, and the command says so', async () => {
  const { code, stdout, stderr } = await run(join(project.path, 'deep'), '-q', '--mount', 'er', 'Do `ls`');
  expect([code, stdout]).toEqual([0, expect.stringContaining('a.txt\ndeep\n')]);
  expect(stderr).toContain(`The run works in ${project.path}, the whole directory that the server allows\n`);
});

test('a directory that the server does not allow is refused, with what to do', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
  try {
    const { code, stderr } = await run(elsewhere, '--mount', '.', 'Do `ls`');
    expect(code).toBe(1);
    expect(stderr).toContain('lets no run work in .. It lets runs work in app.');
    expect(stderr).toContain(`TALARIA_DIRECTORIES='{"project":{"path":"${elsewhere}","mode":"mount"}}'`);
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

test.each([
  [['--mount', 'no-such'], 'no-such is not a directory that a run can work in'],
  [['--mount', '.', '--dir', '.'], 'choose one'],
  [['--mount', '.', '--with-git'], '--with-git goes with --dir'],
])('%j is refused', async (flags, problem) => {
  const { code, stderr } = await run(project.path, ...flags, 'Do `ls`');
  expect(code).not.toBe(0);
  expect(stderr).toContain(problem);
});
