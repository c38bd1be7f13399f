/** Reads what a response has come to by now, or at its end, from the log of its run. */
import type { ResponseObject } from '@talaria/protocol';
import type { Journal, StoredEvent } from '../journal/journal.ts';
import type { LogRecord } from '../journal/records.ts';
import type { Masking } from './masking.ts';
import { type FoldedRecord, ResponseFold } from './response-fold.ts';
import type { ResponseHead } from './response-object.ts';

const PAGE = 1000;

type Source = Pick<Journal, 'readLog' | 'readEvents' | 'firstShownAfter'>;

/** Undefined when there is no such run any more. */
export async function readResponse(
  journal: Source,
  head: ResponseHead,
  masking: Masking,
): Promise<ResponseObject | undefined> {
  const log = await journal.readLog(head.runId, -1);
  if (log.length === 0) return undefined;
  const fold = new ResponseFold(head, masking);
  // Complete steps have their whole text in the log; the deltas are needed of one alone that is not complete.
  const settled = log.findLastIndex(({ event }) => event === 'step.completed' || event === 'run.resumed');
  const rest = log.slice(settled + 1);
  for (const record of log.slice(0, settled + 1)) fold.apply(record);
  for (const delta of await deltasAfter(journal, head.runId, log[settled]?.pos ?? -1, log)) {
    const next = rest.findIndex(({ seq }) => seq !== null && seq > delta.seq);
    for (const record of rest.splice(0, next === -1 ? rest.length : next)) fold.apply(record);
    fold.apply(toDelta(delta));
  }
  for (const record of rest) fold.apply(record);
  return fold.response;
}

/** A text delta is no part of the log; this is the record it is read from. */
export function toDelta({ payload, at }: StoredEvent): FoldedRecord {
  return { event: 'message.delta', public: JSON.parse(payload) as { delta: string }, at };
}

/** The deltas after this position, up to the first event that is younger than the log: what follows is another step. */
async function deltasAfter(
  journal: Source,
  runId: string,
  pos: number,
  log: readonly LogRecord[],
): Promise<StoredEvent[]> {
  const deltas: StoredEvent[] = [];
  const first = await journal.firstShownAfter(runId, pos);
  const lastSeq = log.findLast(({ seq }) => seq !== null)?.seq ?? -1;
  if (first === undefined || first > lastSeq + 1) return deltas;
  for (let after = first - 1; ; ) {
    const events = await journal.readEvents(runId, after, PAGE);
    for (const event of events) {
      if (event.event === 'message.delta') deltas.push(event);
      else if (event.seq > lastSeq) return deltas;
      after = event.seq;
    }
    if (events.length < PAGE) return deltas;
  }
}
