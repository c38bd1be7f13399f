/**
 * The server of the fan-out rows: the real one on a SQLite file, with a source that appends events on a schedule
 * instead of the agent. Through the agent a run shows at most fifty texts a second, because the agent collects text for
 * 20 ms: too few to measure the fan-out.
 */
import { join } from 'node:path';
import { createRunId } from '@talaria/protocol';
import type { NewRecord } from '../../packages/server/src/journal/records.ts';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';
import { type Produce, produce } from './event-source.ts';
import { announce } from './listen.ts';
import { serveJournal } from './serve-journal.ts';

const [directory, runId = createRunId()] = process.argv.slice(2);
if (directory === undefined) throw new Error('expected a directory');

const HOUR_MS = 3_600_000;
const journal = await SqliteJournal.open({ path: join(directory, 'talaria.db') });
const port = await serveJournal(journal);

const request = { prompt: 'bench', session_named: false };
await journal.createRun(
  { runId, owner: 'local', sessionId: runId, request },
  { maxQueued: 1, ownerShare: 1 },
);
const [claim] = await journal.claim('bench', HOUR_MS, 1);
if (claim === undefined) throw new Error('The run could not be claimed');

process.on('message', (wanted: Produce) => {
  produce(wanted, (texts) => {
    const records = texts.map((delta): NewRecord => ({ event: 'message.delta', public: { delta } }));
    void journal.append(claim, records);
  });
});
announce(port);
