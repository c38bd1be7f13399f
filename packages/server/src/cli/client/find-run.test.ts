import type { Run, Talaria } from '@talaria/client';
import { createRunId } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { findRun } from './find-run.ts';

const NOW = 1_790_000_000_000;
const HOUR_MS = 3_600_000;

/** A server with a run an hour, newest first; `read` counts how many of its runs were read. */
function serverOf(ids: readonly string[]) {
  const server = { read: 0, client: undefined as unknown as Talaria };
  async function* list() {
    for (const [i, run_id] of ids.entries()) {
      server.read++;
      yield { run_id, created_at: (NOW - i * HOUR_MS) / 1000 } as Run;
    }
  }
  server.client = { runs: { list } } as unknown as Talaria;
  return server;
}

const ids = Array.from({ length: 1000 }, (_, i) => createRunId(NOW - i * HOUR_MS));

test('reads no further than where a run with this beginning can be', async () => {
  const server = serverOf(ids);
  expect(await findRun(server.client, ids[3]!.slice(0, 20))).toBe(ids[3]);
  expect(server.read).toBeLessThan(10);
});

test('reads on while clocks may differ, and finds a run among older ones', async () => {
  const server = serverOf([...ids.slice(1, 3), ids[0]!, ...ids.slice(3)]);
  expect(await findRun(server.client, ids[0]!.slice(4, 20))).toBe(ids[0]);
});

test('reads everything on a server whose ids tell no time', async () => {
  const others = ids.map((_, i) => `run_${(0xfff00000 - i).toString(16)}${'0'.repeat(24)}`);
  const server = serverOf(others);
  expect(await findRun(server.client, others.at(-1)!.slice(0, 12))).toBe(others.at(-1));
  expect(server.read).toBe(others.length);
});

test('has read enough when too many begin like this', async () => {
  const server = serverOf(ids);
  await expect(findRun(server.client, 'run_0')).rejects.toThrow(
    /^More than 5 runs begin with run_0: (run_\w+, ){4}run_/,
  );
  expect(server.read).toBe(6);
});
