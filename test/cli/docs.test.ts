/** Runs the examples of docs/cli.md unchanged. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerProcess } from '../support/server-process.ts';
import { examplesIn, patternOf, runExamples, shellEnvironment } from './console-examples.ts';

/** Dozens of processes, one after the other, on a machine that may be busy. */
const ALL_EXAMPLES_MS = 240_000;

const examples = examplesIn('docs/cli.md');

const missing = (program: string) => spawnSync(program, ['--version']).status !== 0;

describe('what is written', () => {
  let server: ServerProcess;
  let directory: string;
  let env: Record<string, string>;
  let outputs: string[];

  beforeAll(async () => {
    server = await ServerProcess.start();
    directory = mkdtempSync(join(tmpdir(), 'talaria-docs-'));
    env = shellEnvironment(directory, server.url);
    outputs = runExamples(examples, { cwd: directory, env });
  }, ALL_EXAMPLES_MS);
  afterAll(async () => {
    rmSync(directory, { recursive: true, force: true });
    await server[Symbol.asyncDispose]();
  });

  test('the command that serve prints can be copied', () => {
    const [, command] = /^Try it:\n {2}(talaria run .*)$/m.exec(server.output)!;
    const { TALARIA_BASE_URL: _, ...withoutUrl } = env;
    const { status, stdout } = spawnSync('bash', ['-c', command!], { encoding: 'utf8', env: withoutUrl });
    expect(status).toBe(0);
    expect(stdout).toContain('`echo hello` printed:');
  });

  test('docs/cli.md has examples', () => {
    expect(examples.length).toBeGreaterThan(20);
  });

  for (const [index, example] of examples.entries()) {
    const { command } = example;
    const why = /\| jq /.test(command) && missing('jq') ? ' (skipped: jq is not installed)' : '';
    test.skipIf(why !== '')(`docs/cli.md: ${command}${why}`, () => {
      expect(`${outputs[index]!.trimEnd()}\n`).toMatch(patternOf(example));
    });
  }
});
