import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogRecord } from '../journal/records.ts';
import { ResponseFold } from './response-fold.ts';
import { readResponse } from './response-log.ts';
import { anyRun, HEAD, journalOf, MASKING } from './testing.ts';

function folded(log: readonly LogRecord[]) {
  const fold = new ResponseFold(HEAD, MASKING);
  for (const record of log) fold.apply(record);
  return fold.response;
}

const read = (log: readonly LogRecord[], ahead?: readonly LogRecord[]) =>
  readResponse(journalOf(log, ahead), HEAD, MASKING);

/** A run, and a place in its log. */
const cutRun = anyRun.chain((log) => fc.tuple(fc.constant(log), fc.integer({ min: 1, max: log.length })));

test('at any moment it is what all events so far add up to', () =>
  fc.assert(
    fc.asyncProperty(cutRun, async ([log, length]) => {
      expect(await read(log.slice(0, length))).toEqual(folded(log.slice(0, length)));
    }),
  ));

test('it is as of one moment, also while the run goes on', () =>
  fc.assert(
    fc.asyncProperty(cutRun, async ([log, length]) => {
      const moments = log.slice(length - 1).map((_, i) => folded(log.slice(0, length + i)));
      expect(moments).toContainEqual(await read(log.slice(0, length), log));
    }),
  ));

test('of a run that is gone there is none', async () => {
  expect(await read([])).toBeUndefined();
});
