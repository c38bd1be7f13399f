/** Text of a run that was said again later, because a restart interrupted it. */
import type { Journal } from '../../journal/journal.ts';

/** The events from `from` to the one before `to`. */
export interface TakenBack {
  from: number;
  to: number;
}

/** So that the outputs of many calls are not in memory at once. */
const PAGE_CHARS = 256 * 1024;

/** The ranges that are repeated by now. */
export async function readTakenBack(journal: Pick<Journal, 'readLog'>, runId: string): Promise<TakenBack[]> {
  const found: TakenBack[] = [];
  for (let pos = -1; ; ) {
    const records = await journal.readLog(runId, pos, PAGE_CHARS);
    for (const record of records) {
      pos = record.pos;
      if (record.event !== 'run.resumed' || record.seq === null) continue;
      const { discard_from_seq: from } = record.public;
      if (from !== undefined) found.push({ from, to: record.seq });
    }
    if (records.length === 0) return found;
  }
}
