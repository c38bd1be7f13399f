/** `talaria run --dir`: a run begins with a copy of a directory, and nothing of it stays behind on the server. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { json, serve } from '../../packages/client/src/testing/test-server.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { noTmux } from '../support/tmux.ts';
import { waitFor } from '../support/wait-for.ts';
import { type RunOptions, spawnTalaria, talaria, talariaTerminal } from './talaria.ts';

let server: HostedServer;
let directory: string;

beforeAll(async () => {
  server = await HostedServer.start({ env: { TALARIA_MAX_FILE_BYTES: '3000000' } });
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
});
afterEach(async () => {
  expect((await talaria(server.url, ['files', 'ls', '-q'])).stdout).toBe('');
  rmSync(directory, { recursive: true, force: true });
});

const run = (argv: string[], options: RunOptions = {}) =>
  talaria(server.url, ['run', ...argv], { cwd: directory, ...options });

function write(files: Record<string, string | Buffer>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

test('the run has the files, modes and links of the directory, without what is ignored', async () => {
  write({ '.gitignore': 'secret\n', secret: '', 'src/a.txt': 'hello\n', 'bin/run': 'echo ran\n' });
  execFileSync('bash', ['-c', 'chmod 755 bin/run; ln -s src/a.txt link; git init -q'], { cwd: directory });
  const { code, stdout, stderr } = await run(['--dir', '.', 'Do `bin/run; cat link; find . -type f | sort`']);
  expect(code).toBe(0);
  expect(stdout).toContain('ran\nhello\n./.gitignore\n./bin/run\n./src/a.txt\n```');
  expect(stderr).toMatch(/^Uploaded 4 files, 22 B of \.\n/);
});

test('--with-git brings the repository along', async () => {
  write({ 'a.txt': 'hello\n' });
  execFileSync('bash', ['-c', 'git init -q; git add .'], { cwd: directory });
  const { stdout } = await run(['-q', '--dir', directory, '--with-git', 'Do `git status --short`']);
  expect(stdout).toContain('\nA  a.txt\n');
});

test('the command names what it leaves out, and uploads nothing for an empty directory', async () => {
  expect((await run(['--dir', '.', 'Do `ls -A`'])).stderr).toMatch(/^\. has no files to bring along\n/);
  execFileSync('bash', ['-c', 'mkfifo pipe; ln -s / root; touch a'], { cwd: directory });
  const { code, stderr } = await run(['--dir', '.', 'Do `ls -A`']);
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^Uploaded 1 file, 0 B of \.\nLeft out \(neither a file nor a link\): pipe\nLeft out \(a link that leads out of the directory\): root\n/,
  );
});

test.each([
  [
    'a directory that does not exist',
    ['--dir', 'none'],
    1,
    'none cannot be packed: there is no such directory',
  ],
  ['a file', ['--dir', 'file'], 1, 'file cannot be packed: it is not a directory'],
  [
    'much without asking',
    ['--dir', '.', '--ask-above', '1'],
    2,
    '. has 2 files, 2.0 MB, more than 1.0 MB; --yes',
  ],
  ['more than the server takes', ['--dir', 'large'], 1, 'A file may have at most 3000000 bytes here'],
  ['--yes without --dir', ['--yes'], 2, '--yes goes with --dir'],
  [
    'an idempotency key',
    ['--dir', '.', '--idempotency-key', 'k'],
    2,
    '--idempotency-key does not go with --dir',
  ],
])('refuses %s, and starts no run', async (_, argv, code, message) => {
  write({ file: '' });
  if (argv.includes('--ask-above')) write({ big: Buffer.alloc(2_000_000) });
  if (argv.includes('large')) write({ 'large/x': randomBytes(4_000_000) });
  const before = (await talaria(server.url, ['runs', '-aq'])).stdout;
  const ran = await run([...argv, 'Do `ls`']);
  expect(ran.stderr).toContain(message);
  expect(ran.code).toBe(code);
  expect((await talaria(server.url, ['runs', '-aq'])).stdout).toBe(before);
});

test('-y uploads it whatever its size, and --json prints events alone', async () => {
  write({ big: Buffer.alloc(2_000_000) });
  const { code, stdout } = await run(['-y', '--ask-above', '1', '--json', '--dir', '.', 'Do `wc -c big`']);
  expect(code).toBe(0);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { event?: string });
  expect(events.at(-1)!.event).toBe('run.completed');
});

test.skipIf(noTmux !== '')(`a person is asked before a large directory is uploaded${noTmux}`, async () => {
  write({ big: Buffer.alloc(2_000_000) });
  for (const [key, code] of [
    ['n', 1],
    ['y', 0],
  ] as const) {
    const argv = ['run', '--dir', directory, '--ask-above', '1', 'Do `wc -c big`'];
    await using terminal = await talariaTerminal(server.url, argv, { columns: 200 });
    await terminal.shows(/\? Upload 1 file, 2\.0 MB of .*\? \[y\/N\]/);
    await terminal.press(key);
    expect(await terminal.exitCode()).toBe(code);
    expect(await terminal.screen()).toMatch(
      key === 'y' ? /Uploaded 1 file[\s\S]*completed in/ : /Nothing was uploaded/,
    );
  }
});

test('Ctrl-C during the upload ends it, and starts no run', async () => {
  write({ 'a.txt': 'hello' });
  const requests: string[] = [];
  const stalled = createServer((request) => void requests.push(`${request.method} ${request.url}`));
  await once(stalled.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    stalled.closeAllConnections();
    stalled.close();
  });
  const url = `http://127.0.0.1:${(stalled.address() as AddressInfo).port}`;
  const { child, ended } = spawnTalaria(url, ['run', '--dir', directory, 'x']);
  await waitFor('the upload', () => requests.length > 0);
  child.kill('SIGINT');
  expect(await ended).toEqual({ code: 130, stdout: '', stderr: 'Interrupted; no run was started\n' });
  expect(requests).toEqual(['POST /v1/files']);
});

test('the upload is deleted when the run is refused, and when Ctrl-C ends the request for it', async () => {
  write({ 'a.txt': 'hello' });
  const file = { id: 'file-00000000000000000000000000000000', object: 'file' };
  let refuses = true;
  const { url, asked } = await serve((response, { method, url: path }) => {
    if (path === '/v1/files') json(response, 200, file);
    else if (method === 'DELETE') json(response, 200, { ...file, deleted: true });
    else if (refuses) json(response, 400, { error: { message: 'No', code: 'invalid_workspace' } });
  });
  const sent = () => asked.map(({ method, url: path }) => `${method} ${path}`);
  const argv = ['run', '--dir', directory, 'x'];
  const expected = ['POST /v1/files', 'POST /v1/runs', `DELETE /v1/files/${file.id}`];
  expect(await talaria(url, argv)).toMatchObject({ code: 1, stderr: expect.stringContaining('No') });
  expect(sent()).toEqual(expected);
  expect(asked[1]!.body).toContain(`"workspace":{"archives":[{"path":".","file_id":"${file.id}"}]}`);
  refuses = false;
  const { child, ended } = spawnTalaria(url, argv);
  await waitFor('the request for the run', () => sent().length === 5);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({
    code: 130,
    stderr: expect.stringContaining('Interrupted; talaria runs shows whether the run has started\n'),
  });
  expect(sent()).toEqual([...expected, ...expected]);
});
