/** The completion scripts in the shells they are for. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerWithModel, waitForStatus } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { noTmux, TmuxTerminal } from '../support/tmux.ts';
import { BIN } from './talaria.ts';

let world: ServerWithModel;
let directory: string;
let env: Record<string, string>;
let runId: string;

beforeAll(async () => {
  world = await ServerWithModel.start();
  runId = await world.api.create(script([{ text: 'Completed by a key' }]), { session_id: 'a-session' });
  await waitForStatus(world.api, runId, 'completed');
  directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
  writeFileSync(join(directory, 'talaria'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  chmodSync(join(directory, 'talaria'), 0o755);
  writeFileSync(join(directory, 'some-file.txt'), '');
  env = {
    PATH: `${directory}${delimiter}${process.env.PATH}`,
    HOME: directory,
    TALARIA_BASE_URL: world.server.url,
  };
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await world[Symbol.asyncDispose]();
});

function missing(shell: string): string {
  return spawnSync(shell, ['-c', 'true']).status === 0 ? '' : ` (skipped: ${shell} is not installed)`;
}

function run(shell: string, code: string): string[] {
  const { stdout, stderr } = spawnSync(shell, ['-c', code], { env, cwd: directory, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trimEnd().split('\n').filter(Boolean);
}

/** Runs the codes in one shell, which reads the script once, and returns what each of them prints. */
function answers(shell: string, read: string, codes: readonly string[]): string[][] {
  const rows = run(shell, [read, ...codes.map((code) => `${code}; echo @@mark`)].join('\n'));
  const found: string[][] = [[]];
  for (const row of rows) {
    if (row === '@@mark') found.push([]);
    else found.at(-1)!.push(row);
  }
  return found.slice(0, -1);
}

/** The words as bash would split them; the last one is being typed. */
function inBash(...lines: readonly (readonly string[])[]): string[][] {
  const codes = lines.map((words) => {
    const array = ['talaria', ...words].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${array}); COMP_CWORD=${words.length}; _talaria; printf '%s\\n' "\${COMPREPLY[@]}"`;
  });
  return answers('bash', 'source <(talaria completion bash)', codes);
}

const inFish = (...lines: readonly string[]) =>
  answers(
    'fish',
    'talaria completion fish | source',
    lines.map((line) => `complete -C '${line}'`),
  ).map((rows) => rows.map((row) => row.split('\t')[0]));

describe.skipIf(missing('bash') !== '')(`bash${missing('bash')}`, () => {
  test('completes commands, flags, choices and ids', () => {
    const completions: readonly [words: string[], expected: string[]][] = [
      [['s'], ['serve', 'show', 'stop', 'steer', 'sandbox-image']],
      [
        ['artifacts', ''],
        ['ls', 'cat', 'get'],
      ],
      [['run', '--in'], ['--instructions']],
      [['show', 'run_'], [runId]],
      [['run', '-s', ''], ['a-session']],
      [
        ['approve', runId, ''],
        ['once', 'session', 'always', 'deny'],
      ],
      [['artifacts', 'get', 'x', '--format', '=', 'z'], ['zip']],
      [['serve', '--po'], ['--port']],
      [['show', 'run_ffff'], []],
    ];
    expect(inBash(...completions.map(([words]) => words))).toEqual(
      completions.map(([, expected]) => expected),
    );
  });

  test.skipIf(noTmux !== '')(`in the middle of a line${noTmux}`, async () => {
    await using terminal = await TmuxTerminal.start(['bash', '--norc', '-i'], { env });
    await terminal.press(`cd ${directory}; source <(talaria completion bash); echo rea''dy`, 'Enter');
    await terminal.shows(/^ready$/m);
    await terminal.press('talaria sho', 'Tab');
    await terminal.shows(/talaria show $|talaria show\s*$/m);
    await terminal.press('run_', 'Tab');
    await terminal.shows(new RegExp(runId));
    await terminal.press('C-u', 'talaria artifacts get x -o some', 'Tab');
    await terminal.shows(/-o some-file\.txt/);
  });
});

describe.skipIf(missing('zsh') + noTmux !== '')(`zsh${missing('zsh')}${noTmux}`, () => {
  test('completes commands, ids and files, with descriptions', async () => {
    await using terminal = await TmuxTerminal.start(['zsh', '-f', '-i'], { env });
    const start = `cd ${directory}; autoload -U compinit; compinit -D -u; source <(talaria completion zsh); echo rea''dy`;
    await terminal.press(start, 'Enter');
    await terminal.shows(/^ready$/m);
    await terminal.press('talaria sho', 'Tab');
    await terminal.shows(/talaria show\s*$/m);
    await terminal.press('run_', 'Tab');
    await terminal.shows(new RegExp(`talaria show ${runId}`));
    await terminal.press('C-u', 'talaria artifacts ', 'Tab');
    await terminal.shows(/^cat +-- print a file of a run's workspace$/m);
    await terminal.press('C-u', 'talaria artifacts get x -o some', 'Tab');
    await terminal.shows(/-o some-file\.txt/);
  });

  test('from a directory of fpath', { tags: ['soak'] }, async () => {
    await using terminal = await TmuxTerminal.start(['zsh', '-f', '-i'], { env });
    const start = `mkdir -p ~/f; talaria completion zsh > ~/f/_talaria; fpath=(~/f $fpath); autoload -U compinit; compinit -D -u; echo rea''dy`;
    await terminal.press(start, 'Enter');
    await terminal.shows(/^ready$/m);
    await terminal.press('talaria compl', 'Tab');
    await terminal.shows(/talaria completion\s*$/m);
  });
});

describe.skipIf(missing('fish') !== '')(`fish${missing('fish')}`, () => {
  test('completes commands, flags, ids and files', () => {
    expect(
      inFish('talaria s', 'talaria show run_', 'talaria runs --sta', 'talaria artifacts get x -o some'),
    ).toEqual([
      expect.arrayContaining(['serve', 'show', 'stop', 'steer']),
      [runId],
      ['--status'],
      ['some-file.txt'],
    ]);
  });
});

test('completes nothing, silently, when the server does not answer', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, '__complete', 'show', ''], {
    env: { ...env, TALARIA_BASE_URL: 'http://127.0.0.1:1' },
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});

// Last, because its run would be another one that begins with run_.
test.skipIf(missing('bash') !== '')(
  `bash completes the calls that a run waits for${missing('bash')}`,
  async () => {
    const tools = [{ type: 'function', function: { name: 'get' } }];
    const waiting = await world.api.create(script([{ tools: [{ name: 'get', arguments: {} }] }]), { tools });
    const { pending_calls } = await waitForStatus(world.api, waiting, 'waiting_for_tool');
    expect(inBash(['answer', waiting, ''], ['answer', runId, ''])).toEqual([
      pending_calls!.map(({ tool_call_id }) => tool_call_id),
      [],
    ]);
    await world.api.post(`/v1/runs/${waiting}/stop`);
  },
);
