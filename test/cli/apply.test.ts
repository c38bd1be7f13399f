/** `talaria run --dir`, `diff` and `apply` together, with a real server: out of a directory, changed, and back. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunDiff } from '@talaria/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { treeOf } from '../../packages/server/src/cli/testing/serve-run-files.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { noTmux } from '../support/tmux.ts';
import { type RunOptions, talaria, talariaTerminal } from './talaria.ts';

const BEGIN =
  'mkdir -p src old; echo one > src/a; echo x > old/x; ln -s src/a link; echo tool > tool; printf "a\\0b" > bin';
const WORK =
  'echo two >> src/a; rm old/x; rmdir old; ln -sf tool link; chmod +x tool; printf "a\\0c" > bin; mkdir new; echo n > new/n';

let server: HostedServer;
let directory: string;
let runId: string;

beforeAll(async () => {
  server = await HostedServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
  shell(BEGIN);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const cli = (argv: string[], options: RunOptions = {}) =>
  talaria(server.url, argv, { cwd: directory, ...options });

function shell(script: string): void {
  execFileSync('bash', ['-ec', script], { cwd: directory });
}

/** Runs the command on a copy of the directory. */
async function work(command = WORK): Promise<string> {
  const { code, stderr } = await cli(['run', '--dir', '.', `Do \`${command}\``]);
  expect(code).toBe(0);
  [, runId = ''] = /· (run_[0-9a-f]{32})$/m.exec(stderr)!;
  return stderr;
}

async function followed(argv: string[]): Promise<{ runId: string; stderr: string }> {
  const { code, stderr } = await cli(argv);
  expect(code, stderr).toBe(0);
  return { runId: /· (run_[0-9a-f]{32})$/m.exec(stderr)![1]!, stderr };
}

/** The commands that it names for taking its changes. */
function takenBy(stderr: string): string[][] {
  const [, commands = ''] = /^Take it: (.*)$/m.exec(stderr)!;
  return commands.split(' && ').map((command) => command.split(' ').slice(1));
}

test('a run says at its end what changed and how to take it, and what is taken is what it left', async () => {
  const said = await work();
  expect(said).toMatch(
    /\nM binary {2}bin\nM \+1 -1 {3}link\nA \+1 {6}new\/n\nD -1 {6}old\/x\nM \+1 {6}src\/a\nM {9}tool\n6 files changed, \+3 -2\nSee it: talaria diff run_\w+\nTake it: talaria apply run_\w+\n$/,
  );
  expect(await cli(['apply', runId])).toMatchObject({ code: 0, stderr: '' });
  const taken = treeOf(directory);
  rmSync(directory, { recursive: true });
  execFileSync('mkdir', [directory]);
  shell(`${BEGIN}; ${WORK}`);
  expect(taken).toEqual(treeOf(directory));
});

test('names that are not ASCII are taken', async () => {
  shell("mkdir 'ü 😀'; echo one > 'ü 😀/é'");
  await work("mv 'ü 😀' naïve; echo two >> naïve/é");
  expect(await cli(['apply', runId])).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(directory, 'naïve/é'), 'utf8')).toBe('one\ntwo\n');
  expect([...treeOf(directory).keys()]).not.toContain('ü 😀/é');
});

test('a fork says at its end what it changed and how to take that, from the same server', async () => {
  await work();
  const named = ['--server', server.url];
  const { code, stderr } = await cli(['fork', runId, 'Do `echo forked > src/a`', ...named]);
  expect(code).toBe(0);
  const [, forkId = ''] = /· (run_[0-9a-f]{32})$/m.exec(stderr)!;
  expect(forkId).not.toBe(runId);
  expect(stderr).toMatch(/\nM .* src\/a\n1 file changed, /);
  expect(stderr).toContain(
    `See it: talaria diff ${forkId} --server ${server.url}\nTake it: talaria apply ${runId} --to `,
  );
  expect(stderr).toContain(` && talaria apply ${forkId} --server ${server.url}\n`);
  for (const argv of takenBy(stderr)) expect(await cli(argv)).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(directory, 'src/a'), 'utf8')).toBe('forked\n');
  expect(readFileSync(join(directory, 'new/n'), 'utf8')).toBe('n\n');
});

test('a fork of a fork is taken without what the runs before it did after they were left', async () => {
  // The fork continues with the same commands, so it has a file of its own.
  const first = await followed(['run', '--dir', '.', 'Do `echo 1 > one`, then `touch late-$(date +%s%N)`']);
  const { stdout } = await cli(['watch', '--json', first.runId]);
  const { seq } = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .find(({ event }) => event === 'tool.completed');
  const second = await followed(['fork', '--at', String(seq), first.runId, 'Do `echo 2 > two`']);
  const third = await followed(['fork', second.runId, 'Do `echo 3 > three`']);
  for (const argv of takenBy(third.stderr)) expect((await cli(argv)).code).toBe(0);
  const names = [...treeOf(directory).keys()];
  expect(names).toEqual(expect.arrayContaining(['one', 'two', 'three']));
  expect(names.filter((name) => name.startsWith('late-'))).toHaveLength(1);
});

test('git takes the diff of a run without binary files, and a pipe gets its bytes', async () => {
  await work('echo two >> src/a; rm old/x; echo tab$(printf "\\t") > new');
  const { stdout } = await cli(['diff', runId]);
  expect(stdout).toMatch(/^diff --git a\/old\/x b\/old\/x\ndeleted file mode 100644\n/);
  execFileSync('git', ['apply', '-'], { cwd: directory, input: stdout });
  expect(await cli(['apply', runId])).toMatchObject({
    code: 0,
    stdout: 'Changed 0 files in .; 3 were as in the run already\n',
  });
});

test('diff takes paths and events', async () => {
  const { code, stdout } = await cli([
    'run',
    '--json',
    '--dir',
    '.',
    'Do `echo two >> src/a` and then `echo three >> src/a; echo n > n`',
  ]);
  expect(code).toBe(0);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { run_id: string; event?: string; seq: number });
  const [first] = events.filter(({ event }) => event === 'tool.completed');
  runId = first!.run_id;
  const list = async (...argv: string[]) =>
    (JSON.parse((await cli(['diff', runId, '--json', ...argv])).stdout) as RunDiff).data.map(
      ({ path, additions }) => [path, additions],
    );
  expect(await list()).toEqual([
    ['n', 1],
    ['src/a', 2],
  ]);
  expect(await list('--to', String(first!.seq))).toEqual([['src/a', 1]]);
  expect(await list('--from', String(first!.seq))).toEqual([
    ['n', 1],
    ['src/a', 1],
  ]);
  expect(await list('src')).toEqual([['src/a', 2]]);
  expect(await cli(['diff', runId, 'nothing'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('artifact_not_found'),
  });
});

test('a conflict stops everything, and --keep-mine takes the rest', async () => {
  await work();
  writeFileSync(join(directory, 'src/a'), 'mine\n');
  const before = treeOf(directory);
  expect(await cli(['apply', runId])).toMatchObject({
    code: 7,
    stdout: '',
    stderr: expect.stringMatching(
      /^! src\/a: the run changed it, and it was changed here, too\nNothing was applied\./,
    ),
  });
  expect(treeOf(directory)).toEqual(before);
  expect(await cli(['apply', runId, '--keep-mine'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(directory, 'src/a'), 'utf8')).toBe('mine\n');
  expect(readFileSync(join(directory, 'new/n'), 'utf8')).toBe('n\n');
});

test('what a client writes after the end of the run is not part of its changes', async () => {
  await work('echo two >> src/a');
  shell('echo later > later');
  await cli(['cp', 'later', `${runId}:src/a`, '--force']);
  expect(await cli(['apply', runId])).toMatchObject({ code: 0 });
  expect(readFileSync(join(directory, 'src/a'), 'utf8')).toBe('one\ntwo\n');
});

test.skipIf(noTmux !== '')(`a terminal shows the diff in colours${noTmux}`, async () => {
  await work('echo two >> src/a');
  await using terminal = await talariaTerminal(server.url, ['diff', runId]);
  expect(await terminal.exitCode()).toBe(0);
  expect(await terminal.screen({ colours: true })).toMatch(/\x1b\[32m\+two/);
});
