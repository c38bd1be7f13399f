import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Journal } from '../journal.ts';
import { foldRecord, INITIAL_STATE } from '../run-state.ts';
import { counting, LEASE_MS } from '../testing/records.ts';
import { waitFor } from '../testing/wait.ts';
import { SqliteJournal } from './sqlite-journal.ts';
import { KEPT_THREADS } from './testing/kept-threads.ts';
import { fixturePath, startFixture } from './testing/processes.ts';
import { tempDirectory } from './testing/temp-journal.ts';

/** The acknowledged positions, by run. A last line that was cut off was acknowledged, but not read. */
function acknowledged(output: string): Map<string, number[]> {
  const runs = new Map<string, number[]>();
  for (const line of output.split('\n').slice(0, -1)) {
    const [runId = '', pos] = line.split(' ');
    runs.set(runId, [...(runs.get(runId) ?? []), Number(pos)]);
  }
  return runs;
}

/** Checks that nothing acknowledged is missing and nothing is torn; returns how many records there are. */
async function expectWhole(journal: Journal, output: string): Promise<number> {
  let total = 0;
  for (const [runId, positions] of acknowledged(output)) {
    const log = await journal.readLog(runId, -1);
    const stored = log.map(({ pos }) => pos);
    expect(stored).toEqual(counting(log.length));
    expect(stored).toEqual(expect.arrayContaining(positions));
    // Two records per append, after those of the creation and the claim.
    expect(log.length % 2).toBe(0);
    const events = await journal.readEvents(runId, -1, 1_000_000);
    expect(events.map(({ seq }) => seq)).toEqual(counting(events.length));
    const run = await journal.getRun(runId);
    expect(run?.nextSeq).toBe(events.length);
    expect(run?.state).toEqual(log.reduce(foldRecord, INITIAL_STATE));
    total += log.length;
  }
  return total;
}

describe('a server that is killed', () => {
  const rounds = [
    { round: 0, tags: [] },
    { round: 1, tags: ['soak'] },
    { round: 2, tags: ['soak'] },
    { round: 3, tags: ['soak'] },
  ];
  for (const { round, tags } of rounds) {
    it(`leaves every acknowledged record, without gaps (round ${round})`, { tags }, async () => {
      using directory = tempDirectory();
      const path = join(directory.path, 'talaria.db');
      await using server = startFixture('append-until-killed', path);
      // A different moment in each round: some time after an unpredictable number of lines.
      const lines = 50 + Math.floor(Math.random() * 400) * (round + 1);
      await waitFor(() => expect(server.output().split('\n').length).toBeGreaterThan(lines));
      server.child.kill('SIGKILL');
      const output = await server.ended;

      const journal = await SqliteJournal.open({ path, threads: KEPT_THREADS });
      expect(await expectWhole(journal, output)).toBeGreaterThanOrEqual(lines);
      // Its leases died with it: the runs continue at once.
      expect(await journal.queueDepth()).toMatchObject({ queued: 3, leased: 0, waiting: 0 });
      const claims = await journal.claim('next', LEASE_MS, 10);
      expect(claims.map(({ epoch }) => epoch)).toEqual([2, 2, 2]);
      await journal.close();
    });
  }

  it.each(['journal.before-commit@40', 'journal.after-commit@40'] as const)(
    'at %s leaves whole groups, and beyond what was acknowledged only what was in progress',
    async (failpoint) => {
      using directory = tempDirectory();
      const path = join(directory.path, 'talaria.db');
      await using server = startFixture('append-until-killed', path, { TALARIA_FAILPOINTS: failpoint });
      const output = await server.ended;
      expect(server.child.signalCode).toBe('SIGKILL');

      const journal = await SqliteJournal.open({ path, threads: KEPT_THREADS });
      const total = await expectWhole(journal, output);
      const known = [...acknowledged(output).values()].flat().length + 3 * 2;
      expect(total).toBeGreaterThanOrEqual(known);
      // Each of the three runs has one append of two records in progress at a time.
      expect(total).toBeLessThanOrEqual(known + 3 * 2);
      await journal.close();
    },
  );

  it.each([
    ['journal.before-commit', 0],
    ['journal.after-commit', 1],
  ] as const)('at the first %s has stored %i runs', async (failpoint, runs) => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    await using server = startFixture('append-until-killed', path, { TALARIA_FAILPOINTS: failpoint });
    expect(await server.ended).toBe('');
    const journal = await SqliteJournal.open({ path, threads: KEPT_THREADS });
    expect((await journal.listRuns({ owner: 'ada', limit: 10 })).runs).toHaveLength(runs);
    await journal.close();
  });
});

const hasStrace = spawnSync('strace', ['-e', 'trace=none', 'true']).status === 0;

// Killing a process loses nothing that the kernel has; only the system calls show what a power cut would lose.
it.skipIf(!hasStrace)('every commit is synced to the disk', () => {
  using directory = tempDirectory();
  const trace = join(directory.path, 'trace');
  spawnSync(
    'strace',
    [
      ...['-f', '-e', 'trace=fdatasync,fsync', '-o', trace],
      ...[process.execPath, fixturePath('append-until-killed'), join(directory.path, 'talaria.db')],
    ],
    { env: { ...process.env, TALARIA_FAILPOINTS: 'journal.after-commit@50' } },
  );
  expect(readFileSync(trace, 'utf8').match(/(fdatasync|fsync)\(/g)?.length).toBeGreaterThanOrEqual(50);
});
