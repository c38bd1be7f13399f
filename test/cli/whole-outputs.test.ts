/** A command with a long output leaves nothing in the project of the user: not in the diff, the directory or the next upload. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { treeOf } from '../../packages/server/src/cli/testing/serve-run-files.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { talaria } from './talaria.ts';

const LONG = "seq -f 'line %g of the log of a long build' 3000";
const OUTPUT = /\/tmp\/talaria-output\/exec_[0-9a-f-]+\.log/;

type Cli = (...argv: string[]) => ReturnType<typeof talaria>;

let server: HostedServer;
beforeAll(async () => {
  server = await HostedServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

function project(): { directory: string; cli: Cli } {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'notes'), 'one\n');
  return { directory, cli: (...argv) => talaria(server.url, argv, { cwd: directory }) };
}

async function run(cli: Cli, command: string) {
  const { code, stdout, stderr } = await cli('run', '--dir', '.', `Do \`${command}\``);
  expect(code, stderr).toBe(0);
  return { runId: /· (run_[0-9a-f]{32})$/m.exec(stderr)![1]!, stdout, stderr };
}

/** As the model was told. */
async function outputPath(cli: Cli, runId: string) {
  const { stdout } = await cli('watch', '--json', runId);
  const [, callId] = /"tool_call_id":"([^"]+)"/.exec(stdout)!;
  const told = await (await fetch(`${server.url}/v1/runs/${runId}/calls/${callId}`)).text();
  return OUTPUT.exec(told)?.[0] ?? '';
}

test('what a run leaves is what its command changed, and the next run begins with just that', async () => {
  const { directory, cli } = project();
  const { runId, stderr } = await run(cli, `echo two >> notes; ${LONG}`);
  expect(await outputPath(cli, runId)).toMatch(OUTPUT);
  expect(stderr).toMatch(/\nM \+1 {2}notes\n1 file changed, \+1 -0\n/);
  expect((await cli('diff', '--stat', runId)).stdout).toMatch(/^M \+1 +notes\n1 file changed, \+1 -0\n$/);
  expect((await cli('apply', runId)).stdout).toBe('M notes\nChanged 1 file in .\n');
  expect([...treeOf(directory).keys()]).toEqual(['notes']);

  const next = await run(cli, 'find . -mindepth 1; cat notes');
  expect(next.stderr).toMatch(/^Uploaded 1 file, 8 B of \.\n/);
  expect(next.stdout).toContain('./notes\none\ntwo\n');
});

test('a directory of the user called .talaria is like any other', async () => {
  const { directory, cli } = project();
  execFileSync('bash', ['-ec', 'mkdir -p .talaria/output; echo mine > .talaria/output/note.log'], {
    cwd: directory,
  });
  const { runId, stdout } = await run(
    cli,
    `cat .talaria/output/note.log; echo more >> .talaria/output/note.log; ${LONG} | tail -n 1`,
  );
  expect(stdout).toContain('mine\n');
  expect((await cli('diff', '--stat', runId)).stdout).toMatch(/^M \+1 +\.talaria\/output\/note\.log\n/);
  expect((await cli('apply', runId)).stdout).toContain('M .talaria/output/note.log\n');
});
