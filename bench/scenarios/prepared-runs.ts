/** A data directory with runs in it, written through the journal before the measured server starts. */
import { join } from 'node:path';
import { createRunId } from '@talaria/protocol';
import type { Claim } from '../../packages/server/src/journal/journal.ts';
import type { NewRecord } from '../../packages/server/src/journal/records.ts';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';

const LEASE_MS = 3_600_000;
/** The owner of runs on a server without keys. */
const OWNER = 'local';

export interface Prepared extends AsyncDisposable {
  journal: SqliteJournal;
  /** New runs, oldest first, held by a worker that will not exist any more. */
  claimedRuns(count: number): Promise<Claim[]>;
}

export async function openPrepared(dataDir: string): Promise<Prepared> {
  const journal = await SqliteJournal.open({ path: join(dataDir, 'talaria.db') });
  return {
    journal,
    async claimedRuns(count) {
      const request = { prompt: 'bench:hang', session_named: false };
      const runIds = Array.from({ length: count }, () => createRunId());
      await Promise.all(
        runIds.map((runId) =>
          journal.createRun(
            { runId, owner: OWNER, sessionId: runId, request },
            { maxQueued: count, ownerShare: count },
          ),
        ),
      );
      return journal.claim('bench', LEASE_MS, count);
    },
    [Symbol.asyncDispose]: () => journal.close(),
  };
}

export const delta = (text: string): NewRecord => ({ event: 'message.delta', public: { delta: text } });
