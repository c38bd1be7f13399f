/**
 * Runs the examples of docs/cli.md unchanged: in blocks of `console`, a line with `$ ` is a command for bash and the
 * lines after it are its output. `…` stands for anything in a line, alone in a line for any number of lines.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerProcess } from '../support/server-process.ts';
import { BIN } from './talaria.ts';

const document = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');

/** Dozens of processes, one after the other, on a machine that may be busy. */
const ALL_EXAMPLES_MS = 240_000;

interface Example {
  command: string;
  printed: string[];
}

const examples = [...document.matchAll(/^```console\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => {
  const found: Example[] = [];
  for (const line of block!.trimEnd().split('\n')) {
    if (line.startsWith('$ ')) found.push({ command: line.slice(2), printed: [] });
    else found.at(-1)!.printed.push(line);
  }
  return found;
});

const missing = (program: string) => spawnSync(program, ['--version']).status !== 0;

describe('what is written', () => {
  let server: ServerProcess;
  let directory: string;
  let outputs: string[];

  beforeAll(async () => {
    server = await ServerProcess.start();
    directory = mkdtempSync(join(tmpdir(), 'talaria-docs-'));
    writeFileSync(join(directory, 'talaria'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
    chmodSync(join(directory, 'talaria'), 0o755);
    // One shell for all, so that variables last; a mark after each command leaves $? unchanged.
    const marked = examples.map(({ command }) => `${command}\nstatus=$?; echo; echo @@mark; (exit $status)`);
    const { stdout } = spawnSync('bash', ['-c', `exec 2>&1; ${marked.join('\n')}`], {
      cwd: directory,
      encoding: 'utf8',
      env: {
        PATH: `${directory}${delimiter}${process.env.PATH}`,
        HOME: directory,
        TALARIA_BASE_URL: server.url,
      },
    });
    outputs = stdout.split('\n@@mark\n');
  }, ALL_EXAMPLES_MS);
  afterAll(async () => {
    rmSync(directory, { recursive: true, force: true });
    await server[Symbol.asyncDispose]();
  });

  test('the command that serve prints can be copied', () => {
    const [, command] = /^Try it:\n {2}(talaria run .*)$/m.exec(server.output)!;
    const { status, stdout } = spawnSync('bash', ['-c', command!], {
      encoding: 'utf8',
      env: { PATH: `${directory}${delimiter}${process.env.PATH}`, HOME: directory },
    });
    expect(status).toBe(0);
    expect(stdout).toContain('`echo hello` printed:');
  });

  test('docs/cli.md has examples', () => {
    expect(examples.length).toBeGreaterThan(20);
  });

  for (const [index, { command, printed }] of examples.entries()) {
    const why = /\| jq /.test(command) && missing('jq') ? ' (skipped: jq is not installed)' : '';
    test.skipIf(why !== '')(`docs/cli.md: ${command}${why}`, () => {
      expect(`${outputs[index]!.trimEnd()}\n`).toMatch(toPattern(printed));
    });
  }
});

function toPattern(printed: readonly string[]): RegExp {
  const lines = printed.map((line) => (line === '…' ? '(?:.*\n)*?' : `${lineMatching(line)}\n`));
  return new RegExp(`^${lines.join('') || '\n'}$`);
}

/** Columns are as wide as their content. */
function lineMatching(line: string): string {
  const literal = (part: string) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ {2,}/g, ' +');
  return line.split('…').map(literal).join('.*');
}
