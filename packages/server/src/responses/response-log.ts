/** Reads the present or final state of a response from the log of its run. */
import type { ResponseObject } from '@talaria/protocol';
import type { Journal, StoredEvent } from '../journal/journal.ts';
import type { LogRecord } from '../journal/records.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { type FoldedRecord, ResponseFold } from './response-fold.ts';
import type { ResponseHead } from './response-object.ts';

const PAGE = 1000;

type Source = Pick<Journal, 'readLog' | 'readEvents' | 'firstShownAfter'>;

/** Undefined when the run does not exist any more. */
export async function readResponse(
  journal: Source,
  head: ResponseHead,
  secrets: Secrets,
): Promise<ResponseObject | undefined> {
  const whole = await journal.readLog(head.runId, -1);
  if (whole.length === 0) return undefined;
  const { log, beginPos } = partOf(whole, head.afterSeq);
  const fold = new ResponseFold(head, secrets);
  // Complete steps have their whole text in the log; deltas are needed only for a step that is not complete.
  const settled = log.findLastIndex(({ event }) => event === 'step.completed' || event === 'run.resumed');
  const rest = log.slice(settled + 1);
  for (const record of log.slice(0, settled + 1)) fold.apply(record);
  for (const delta of await deltasAfter(journal, head, log[settled]?.pos ?? beginPos, log)) {
    const next = rest.findIndex(({ seq }) => seq !== null && seq > delta.seq);
    for (const record of rest.splice(0, next === -1 ? rest.length : next)) fold.apply(record);
    fold.apply(toDelta(delta));
  }
  for (const record of rest) fold.apply(record);
  return fold.response;
}

/** The records of one response: to the end of the run, or to its next wait for the client. */
function partOf(whole: readonly LogRecord[], afterSeq: number): { log: LogRecord[]; beginPos: number } {
  const from = afterSeq === -1 ? 0 : whole.findIndex(({ seq }) => seq === afterSeq) + 1;
  const end = whole.findIndex(({ event }, i) => i >= from && event === 'run.waiting');
  return {
    log: whole.slice(from, end === -1 ? whole.length : end + 1),
    beginPos: whole[from - 1]?.pos ?? -1,
  };
}

/** A text delta is not part of the log; this is the record that replaces it. */
export function toDelta({ payload, at }: StoredEvent): FoldedRecord {
  return { event: 'message.delta', public: JSON.parse(payload) as { delta: string }, at };
}

/**
 * The deltas after this position, up to the first event that is newer than the log: what follows belongs to another
 * step or another response.
 */
async function deltasAfter(
  journal: Source,
  { runId, afterSeq }: ResponseHead,
  pos: number,
  log: readonly LogRecord[],
): Promise<StoredEvent[]> {
  const deltas: StoredEvent[] = [];
  const lastSeq = log.findLast(({ seq }) => seq !== null)?.seq ?? afterSeq;
  const isOver = log.at(-1)?.event === 'run.waiting';
  const first = await journal.firstShownAfter(runId, pos);
  if (first === undefined || first > lastSeq + 1) return deltas;
  for (let after = first - 1; ; ) {
    const events = await journal.readEvents(runId, after, PAGE);
    for (const event of events) {
      if (isOver && event.seq > lastSeq) return deltas;
      if (event.event === 'message.delta') deltas.push(event);
      else if (event.seq > lastSeq) return deltas;
      after = event.seq;
    }
    if (events.length < PAGE) return deltas;
  }
}
