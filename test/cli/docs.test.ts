/** Runs the examples of docs/cli.md unchanged. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HostedServer } from '../support/hosted-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { examplesIn, patternOf, runExamples, shellEnvironment } from './console-examples.ts';

/** Dozens of processes, one after the other, on a machine that may be busy. */
const ALL_EXAMPLES_MS = 240_000;

const examples = examplesIn('docs/cli.md');

const missing = (program: string) => spawnSync(program, ['--version']).status !== 0;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-docs-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('the command that serve prints can be copied', async () => {
  await using server = await ServerProcess.start();
  const [, command] = /^Try it:\n {2}(talaria run .*)$/m.exec(server.output)!;
  const { TALARIA_BASE_URL: _, ...env } = shellEnvironment(directory, server.url);
  const { status, stdout } = spawnSync('bash', ['-c', command!], { encoding: 'utf8', env });
  expect(status).toBe(0);
  expect(stdout).toContain('`echo hello` printed:');
});

test('docs/cli.md has examples', () => {
  expect(examples.length).toBeGreaterThan(20);
});

// Half a hundred processes. Other tests show what each command does.
describe('docs/cli.md', () => {
  let server: HostedServer;
  let outputs: string[];
  beforeAll(async () => {
    server = await HostedServer.start();
    outputs = runExamples(examples, { cwd: directory, env: shellEnvironment(directory, server.url) });
  }, ALL_EXAMPLES_MS);
  afterAll(() => server[Symbol.asyncDispose]());

  for (const [index, example] of examples.entries()) {
    const { command } = example;
    const why = /\| jq /.test(command) && missing('jq') ? ' (skipped: jq is not installed)' : '';
    test.skipIf(why !== '')(`${command}${why}`, { tags: ['soak'] }, () => {
      expect(`${outputs[index]!.trimEnd()}\n`).toMatch(patternOf(example));
    });
  }
});
