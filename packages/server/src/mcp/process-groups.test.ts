import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { waitFor } from '../../../../test/support/wait-for.ts';

const MODULE = new URL('./process-groups.ts', import.meta.url).pathname;

/** A process that has started two groups, each with a child of its own, and remembers only the first. */
const PROGRAM = `
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { forget, remember } from ${JSON.stringify(MODULE)};
  const groups = [];
  for (let i = 0; i < 2; i++) {
    const child = spawn('sh', ['-c', 'sleep 3600 & echo $!; wait'], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
    remember(child.pid);
    groups.push([child.pid, Number(line)]);
  }
  forget(groups[1][0]);
  console.log(JSON.stringify(groups));
  process.stdin.resume();
`;

async function start() {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const [remembered, forgotten] = JSON.parse(line) as number[][];
  return { child, remembered: remembered!, forgotten: forgotten! };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.each([
  ['is killed', 'SIGKILL'],
  ['is told to end', 'SIGTERM'],
] as const)(
  'a group ends with the process that %s, including grandchildren, and a forgotten group does not',
  async (_, signal) => {
    const { child, remembered, forgotten } = await start();
    child.kill(signal);
    await waitFor('the group to be gone', () => !remembered.some(isAlive));
    expect(forgotten.every(isAlive)).toBe(true);
    process.kill(-forgotten[0]!, 'SIGKILL');
  },
);

test('the watch does not keep a process from ending', async () => {
  const { child, remembered, forgotten } = await start();
  child.stdin.end();
  // Its own children do; without them nothing is left to wait for.
  for (const [leader] of [remembered, forgotten]) process.kill(-leader!, 'SIGKILL');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
