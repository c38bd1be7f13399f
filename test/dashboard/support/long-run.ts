/** A long run, written through the journal before its server starts: a model would need hours for it. */
import { join } from 'node:path';
import { createRunId } from '@talaria/protocol';
import type { NewRecord } from '../../../packages/server/src/journal/records.ts';
import { SqliteJournal } from '../../../packages/server/src/journal/sqlite/sqlite-journal.ts';

/** The owner of runs on a server without keys. */
const OWNER = 'local';
const LEASE_MS = 3_600_000;
const BATCH = 5_000;

/** What a step of it is made of: some text, cut as models cut it, then a command with its output. */
const DELTAS_PER_STEP = 38;
const EVENTS_PER_STEP = DELTAS_PER_STEP + 2;

/** A completed run with exactly this many events. */
export async function writeLongRun(dataDir: string, events: number): Promise<string> {
  const journal = await SqliteJournal.open({ path: join(dataDir, 'talaria.db') });
  try {
    const runId = createRunId();
    const request = { prompt: 'A long run', session_named: false };
    await journal.createRun(
      { runId, owner: OWNER, sessionId: runId, request },
      { maxQueued: 10, ownerShare: 10 },
    );
    const [claim] = await journal.claim('long-run', LEASE_MS, 1);
    for (let from = 0; from < events - 1; from += BATCH) {
      const size = Math.min(BATCH, events - 1 - from);
      await journal.append(
        claim!,
        Array.from({ length: size }, (_, index) => recordOf(from + index)),
      );
    }
    const usage = { input_tokens: 1000, output_tokens: events, total_tokens: 1000 + events };
    const end: NewRecord = { event: 'run.completed', public: { output: 'The very end.', usage } };
    await journal.append(claim!, [end]);
    return runId;
  } finally {
    await journal.close();
  }
}

function recordOf(seq: number): NewRecord {
  const [step, place] = [Math.floor(seq / EVENTS_PER_STEP), seq % EVENTS_PER_STEP];
  const call = { tool: 'terminal', tool_call_id: `call_${step}` };
  if (place < DELTAS_PER_STEP) {
    const delta = place % 10 === 9 ? `word ${seq}.\n\n` : `word ${seq} `;
    return { event: 'message.delta', public: { delta } };
  }
  if (place === DELTAS_PER_STEP) {
    const preview = `echo ${step}`;
    const started = { ...call, preview, arguments: { command: preview } };
    return { event: 'tool.started', public: started, private: { gated: false } };
  }
  const output = `${step}\n`;
  const completed = { ...call, duration: 0.1, error: false, preview: output, exit_code: 0 };
  return { event: 'tool.completed', public: completed, private: { output } };
}
