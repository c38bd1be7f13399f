/** Runs the examples of docs/workspaces.md and the first one of the README unchanged. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HostedServer } from '../support/hosted-server.ts';
import { examplesIn, patternOf, runExamples, shellEnvironment } from './console-examples.ts';

const ALL_EXAMPLES_MS = 240_000;

const root = new URL('../../', import.meta.url);
const examples = examplesIn('docs/workspaces.md');

let server: HostedServer;
let directory: string;
let env: Record<string, string>;

beforeAll(async () => {
  server = await HostedServer.start();
  directory = mkdtempSync(join(tmpdir(), 'talaria-docs-'));
  // Without what a developer has in the directories: a repository around it, and files of their own.
  const project = 'examples/failing-tests';
  cpSync(fileURLToPath(new URL(project, root)), join(directory, project), { recursive: true });
  env = shellEnvironment(directory, server.url);
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

test('docs/workspaces.md has examples', () => {
  expect(examples.length).toBeGreaterThan(10);
});

test('the first example of the README makes the tests pass', () => {
  const readme = readFileSync(new URL('README.md', root), 'utf8');
  const [, command] = /^npx (talaria run --dir .*)$/m.exec(readme)!;
  const ran = spawnSync('bash', ['-c', command!], { cwd: directory, env, encoding: 'utf8' });
  // It would say that the command failed.
  expect(ran.stdout).toContain('`node --test` printed:');
  expect(ran.stderr).toContain('M +1 -1  src/slug.js\n1 file changed, +1 -1\n');
  expect(ran.status).toBe(0);
});

// Other tests show what each command does.
describe('docs/workspaces.md', () => {
  let outputs: string[];
  beforeAll(() => {
    outputs = runExamples(examples, { cwd: directory, env });
  }, ALL_EXAMPLES_MS);

  for (const [index, example] of examples.entries()) {
    test(example.command, { tags: ['soak'] }, () => {
      expect(`${outputs[index]!.trimEnd()}\n`).toMatch(patternOf(example));
    });
  }
});
