/** The program alone, as a child of the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { entryArchitecture } from '../isolation/entry/entry-program.ts';
import { terminalProgram, windowSize } from './terminal-program.ts';

const architecture = entryArchitecture();

/** Runs a command of sh in a terminal, with this input for it. */
async function run(command: string, input = ''): Promise<{ code: number | null; printed: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-terminal-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'terminal');
  writeFileSync(path, terminalProgram(architecture ?? 'x64'), { mode: 0o755 });
  const child = spawn(path, ['/bin/sh', '-c', command]);
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    printed += part;
  });
  child.stdin.write(Buffer.concat([windowSize({ columns: 77, rows: 22 }), Buffer.from(input)]));
  const [code] = await once(child, 'exit');
  child.stdin.destroy();
  child.stdout.destroy();
  return { code, printed };
}

test.skipIf(!architecture)(
  'a command has a terminal of the wanted size, and its last words arrive',
  async () => {
    const command = 'stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && seq 2000 && printf end';
    const { code, printed } = await run(command);
    expect(code).toBe(0);
    expect(printed).toBe(`22 77\r\n${Array.from({ length: 2000 }, (_, i) => `${i + 1}\r\n`).join('')}end`);
  },
);

test.skipIf(!architecture)('what is typed is echoed and read', async () => {
  expect(await run('read -r line; echo "[$line]"', 'typed\r')).toEqual({
    code: 0,
    printed: 'typed\r\n[typed]\r\n',
  });
});

test.skipIf(!architecture).each([
  ['exit 7', 7],
  ['kill -KILL $$', 137],
  ['kill -TERM $$', 143],
])('%s ends it with the code that a shell reports', async (command, code) => {
  expect((await run(command)).code).toBe(code);
});

test.skipIf(!architecture)('it does not wait for what runs on in the background', async () => {
  const { code, printed } = await run('sleep 1000 & echo $!; exit 3');
  expect(code).toBe(3);
  process.kill(Number(printed), 'SIGKILL');
});
