import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { shellArguments } from '../isolation/shell.ts';
import { NO_LIMITS } from '../limits/launch-limits.ts';
import { renderStatefulScript } from './stateful-script.ts';

/** The contract suite tests bash; this tests a machine that has only sh. */
const NO_FUNCTIONS = '[there is no bash here: functions do not carry over to the next stateful command]\n';

let dir: string;
let state: Uint8Array | undefined;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'talaria-sandbox-test-')));
  state = undefined;
});
afterEach(() => rmSync(dir, { recursive: true }));

function run(command: string, workdir?: string) {
  const [script, left] = [join(dir, 'script'), join(dir, 'left')];
  rmSync(left, { force: true });
  writeFileSync(
    script,
    renderStatefulScript({ shell: 'sh', command, workspaceDir: dir, state, saveTo: left, workdir, env: {} }),
  );
  const fd = openSync(script, 'r');
  const [program, ...args] = shellArguments({ kind: 'sh', path: '/bin/sh' }, NO_LIMITS);
  const env = { PATH: process.env.PATH };
  const { stdout, status } = spawnSync(program as string, args, {
    stdio: ['ignore', 'pipe', 'pipe', fd],
    env,
  });
  closeSync(fd);
  state = readFileSync(left);
  return { output: stdout.toString(), status };
}

test('a plain sh keeps directory, umask and exported variables, and says what it does not keep', () => {
  expect(
    run(`mkdir "it's"; cd "it's"; umask 027; export A="it's
two \\$lines"; plain=1; exit 3`),
  ).toEqual({ output: NO_FUNCTIONS, status: 3 });
  const second = run('pwd; umask; printf "[%s]\\n" "$A" "$plain"; set -e; false');
  expect(second).toEqual({ output: `${dir}/it's\n0027\n[it's\ntwo $lines]\n[]\n`, status: 1 });
  expect(run('pwd', '/').output).toBe('/\n');
  expect(run('pwd').output).toBe('/\n');
});

test('a plain sh continues without a state that does not parse, and without a directory that is gone', () => {
  state = Buffer.from('if then\n');
  expect(run('mkdir d; cd d; rmdir ../d')).toEqual({
    output: '[not all that the last stateful command left could be restored]\n',
    status: 0,
  });
  expect(run('pwd').output).toBe(
    `[${dir}/d, where the last stateful command ended, is gone; this one starts in ${dir}]\n${dir}\n`,
  );
});
