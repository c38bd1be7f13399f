import { beforeEach, expect, test } from 'vitest';
import type { MeasuredRun } from '../journal/kept-runs.ts';
import { DiskBound } from './disk-bound.ts';

/** What each run takes; undefined until it is measured. The one that ended first comes first. */
let runs: Map<string, { bytes?: number; kept?: boolean }>;
let warnings: string[];
let broken: Set<string>;
const signal = new AbortController().signal;

const kept = {
  unmeasured: async (_: string, limit: number) =>
    [...runs].flatMap(([runId, { bytes }]) => (bytes === undefined ? [runId] : [])).slice(0, limit),
  measured: async (_: string, measured: readonly MeasuredRun[]) => {
    for (const { runId, bytes } of measured) runs.get(runId)!.bytes = bytes;
  },
  outdated: async (_: string, runId: string) => {
    delete runs.get(runId)!.bytes;
  },
  used: async () => [...runs.values()].reduce((sum, { bytes = 0 }) => sum + bytes, 0),
  giveUp: async (_: string, bytes: number, limit: number) => {
    let [given, freed] = [0, 0];
    for (const [runId, run] of runs) {
      if (freed >= bytes || given === limit) break;
      if (run.kept || !run.bytes) continue;
      runs.delete(runId);
      given += 1;
      freed += run.bytes;
    }
    return given;
  },
};

beforeEach(() => {
  runs = new Map();
  warnings = [];
  broken = new Set();
});

function bound(maxBytes: number, onMeasure = () => {}): DiskBound {
  const note = (_fields: object, message: string) => warnings.push(message);
  return new DiskBound({
    kept,
    serverId: 'server',
    maxBytes,
    diskUsage: async (runId) => {
      onMeasure();
      if (broken.has(runId)) throw new Error('du is gone');
      return 10;
    },
    log: { debug: note, info: note, warn: note, error: note },
  });
}

test('measures all runs, and gives up as many as it takes, however many those are', async () => {
  for (let n = 0; n < 75; n++) runs.set(`run_${n}`, {});
  const disk = bound(95);
  expect(await disk.enforce(signal)).toBe(true);
  expect([...runs.keys()]).toEqual(Array.from({ length: 9 }, (_, n) => `run_${n + 66}`));
  expect(disk.state).toEqual({ usedBytes: 90, maxBytes: 95, isFull: false });
  expect(await disk.enforce(signal)).toBe(false);
  expect(warnings).toEqual([]);
});

test('says once that only kept runs are left, and again after there was room', async () => {
  runs.set('run_a', { kept: true }).set('run_b', { kept: true }).set('run_c', {});
  const disk = bound(15);
  expect(await disk.enforce(signal)).toBe(true);
  expect(await disk.enforce(signal)).toBe(false);
  expect([...runs.keys()]).toEqual(['run_a', 'run_b']);
  expect(disk.state).toMatchObject({ usedBytes: 20, isFull: true });
  expect(warnings).toEqual([expect.stringContaining('only kept ones are left')]);
  runs.delete('run_a');
  await disk.enforce(signal);
  expect(disk.state.isFull).toBe(false);
  runs.set('run_d', { kept: true });
  await disk.enforce(signal);
  expect(warnings).toHaveLength(2);
});

test('files that cannot be measured hold up no others', async () => {
  for (let n = 0; n < 25; n++) runs.set(`run_${n}`, {});
  broken.add('run_3');
  const disk = bound(1_000);
  await disk.enforce(signal);
  expect(runs.get('run_3')).toEqual({ bytes: 0 });
  expect(disk.state.usedBytes).toBe(240);
  expect(warnings).toHaveLength(1);
});

test('a stop waits for one measurement, and what is measured stays so', async () => {
  for (let n = 0; n < 5; n++) runs.set(`run_${n}`, {});
  const stop = new AbortController();
  expect(await bound(1, () => stop.abort()).enforce(stop.signal)).toBe(false);
  expect([...runs.values()]).toEqual([{ bytes: 10 }, {}, {}, {}, {}]);
});
