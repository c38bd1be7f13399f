/**
 * What a create waits for: the disk, or the hand-off to the writer thread and back. One create after the other, on a
 * quiet disk and beside a process that keeps the disk busy.
 *
 * Fair because the floor is one small write with fdatasync, as SQLite does one per commit, in the same directory, in turns
 * with the creates and under the same load.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';
import { createRun } from '../../packages/server/src/journal/testing/records.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { percentile } from '../statistics.ts';

const ROUNDS = 5;
const PER_ROUND = 150;
/** About what the commit of a create appends to the write-ahead log. */
const FLOOR_BYTES = 16_384;
const BUSY_PROCESSES = 2;

interface Round {
  total: number[];
  commit: number[];
  handOff: number[];
  sync: number[];
}

export async function createWaits(stage: Stage): Promise<Row[]> {
  const directory = stage.directory();
  const commits: number[] = [];
  const journal = await SqliteJournal.open({
    path: join(directory, 'talaria.db'),
    report: (fact) => {
      if (fact.fact === 'journal.commit') commits.push(fact.durationMs);
    },
  });
  const file = openSync(join(directory, 'floor'), 'w');
  const others = await Promise.all(
    Array.from({ length: BUSY_PROCESSES }, () => stage.process('processes/busy-disk.ts', [directory])),
  );
  try {
    const measure = async (busy: boolean): Promise<Round> => {
      for (const other of others) other.send(busy);
      const round: Round = { total: [], commit: [], handOff: [], sync: [] };
      for (let i = 0; i < PER_ROUND; i++) {
        commits.length = 0;
        const total = await timed(() => createRun(journal));
        const [commit = 0] = commits;
        round.total.push(total);
        round.commit.push(commit);
        round.handOff.push(total - commit);
        round.sync.push(await timed(async () => syncedWrite(file)));
      }
      for (const other of others) other.send(false);
      return round;
    };
    await measure(false);
    const rows: Row[] = [];
    for (const busy of [false, true]) {
      const rounds: Round[] = [];
      for (let i = 0; i < ROUNDS; i++) rounds.push(await measure(busy));
      rows.push(...rowsOf(rounds, busy ? 'a busy disk' : 'a quiet disk'));
    }
    return rows;
  } finally {
    closeSync(file);
    await journal.close();
  }
}

function rowsOf(rounds: readonly Round[], where: string): Row[] {
  const at = (share: number, part: keyof Round) => rounds.map((round) => percentile(round[part], share));
  const row = (what: string, part: keyof Round, share: number): Row => ({
    what: `${what} on ${where}, ${share === 0.5 ? 'p50' : 'p99'}`,
    unit: 'ms',
    better: 'less',
    ours: at(share, part),
    floor: { name: 'write + fdatasync', rounds: at(share, 'sync') },
  });
  return [0.5, 0.99].flatMap((share) => [
    row('a create', 'total', share),
    row('… its commit', 'commit', share),
    row('… between threads', 'handOff', share),
  ]);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function syncedWrite(file: number): void {
  writeSync(file, Buffer.alloc(FLOOR_BYTES));
  fdatasyncSync(file);
}
