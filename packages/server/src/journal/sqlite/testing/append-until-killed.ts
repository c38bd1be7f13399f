/**
 * Appends to three runs at once forever, and prints `<run id> <pos>` for each record whose append resolved. The lines
 * are written synchronously: what was printed had been acknowledged, whenever the process is killed.
 */
import { writeSync } from 'node:fs';
import { createRun, LEASE_MS, reasoning, step } from '../../testing/records.ts';
import { SqliteJournal } from '../sqlite-journal.ts';

const journal = await SqliteJournal.open({ path: process.argv[2]! });
for (let i = 0; i < 3; i++) await createRun(journal);
const claims = await journal.claim('child', LEASE_MS, 3);

await Promise.all(
  claims.map(async (claim, run) => {
    for (let i = 0; ; i++) {
      const records = await journal.append(claim, [reasoning(`${i}`.repeat(run * 20 + 1)), step()]);
      print(records.map(({ pos }) => `${claim.runId} ${pos}\n`).join(''));
    }
  }),
);

/** A pipe that nobody reads accepts nothing for a while; then the write is retried. */
function print(text: string): void {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}
