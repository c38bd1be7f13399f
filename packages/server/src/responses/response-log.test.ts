import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogRecord } from '../journal/records.ts';
import { ResponseFold } from './response-fold.ts';
import { readResponse } from './response-log.ts';
import {
  accepted,
  anyRun,
  claimed,
  completed,
  finished,
  HEAD,
  journalOf,
  SECRETS,
  said,
  startedByClient,
  stepped,
  toLog,
  waiting,
} from './testing/runs.ts';

function folded(log: readonly LogRecord[]) {
  const fold = new ResponseFold(HEAD, SECRETS);
  for (const record of log) fold.apply(record);
  return fold.response;
}

const read = (log: readonly LogRecord[], ahead?: readonly LogRecord[]) =>
  readResponse(journalOf(log, ahead), HEAD, SECRETS);

/** A run, and a position in its log. */
const cutRun = anyRun.chain((log) => fc.tuple(fc.constant(log), fc.integer({ min: 1, max: log.length })));

test('at any time it equals what all events so far add up to', () =>
  fc.assert(
    fc.asyncProperty(cutRun, async ([log, length]) => {
      expect(await read(log.slice(0, length))).toEqual(folded(log.slice(0, length)));
    }),
  ));

test('it shows one moment, also while the run continues', () =>
  fc.assert(
    fc.asyncProperty(cutRun, async ([log, length]) => {
      const moments = log.slice(length - 1).map((_, i) => folded(log.slice(0, length + i)));
      expect(moments).toContainEqual(await read(log.slice(0, length), log));
    }),
  ));

/** A run that waited for its client twice. */
const PARTS = toLog([
  accepted,
  claimed,
  ...said('One.'),
  stepped('One.', [{ id: 'c1' }]),
  startedByClient('c1'),
  waiting('c1'),
  claimed,
  finished('c1', 'snow'),
  ...said('Two.'),
  stepped('Two.', [{ id: 'c2' }]),
  startedByClient('c2'),
  waiting('c2'),
  claimed,
  finished('c2', 'sun'),
  ...said('Three.'),
  stepped('Three.'),
  completed('Three.'),
]);

test('a run that waited for its client is several responses, each with its own part', async () => {
  const waits = PARTS.flatMap(({ event, seq }) => (event === 'run.waiting' ? [seq!] : []));
  for (let length = 1; length <= PARTS.length; length += 1) {
    const log = PARTS.slice(0, length);
    const parts = [-1, ...waits.filter((seq) => log.some((record) => record.seq === seq))];
    const texts: string[] = [];
    for (const afterSeq of parts) {
      const head = { ...HEAD, afterSeq };
      const response = (await readResponse(journalOf(log), head, SECRETS))!;
      const at = log.findIndex(({ seq }) => seq !== null && seq === afterSeq);
      expect(response).toEqual(folded(log.slice(at + 1)));
      texts.push(JSON.stringify(response.output));
    }
    for (const [i, word] of ['One.', 'Two.', 'Three.'].entries()) {
      expect(texts.filter((text) => text.includes(word)).length).toBeLessThanOrEqual(1);
      if (texts[i]?.includes('message')) expect(texts[i]).toContain(word);
    }
  }
});

test('a run that is gone has none', async () => {
  expect(await read([])).toBeUndefined();
});
