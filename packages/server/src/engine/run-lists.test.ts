import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RunFilter } from '../journal/journal.ts';
import { RunLists } from './run-lists.ts';

/** A store that answers at once, as the embedded one does, and finds nothing. */
function searched() {
  const reads: RunFilter[] = [];
  const listRuns = async (filter: RunFilter) => {
    reads.push(filter);
    return { runs: [], next: `${reads.length}` };
  };
  return { reads, lists: new RunLists({ listRuns }, { model: 'model', retentionMs: 1000 }) };
}

test('between two reads of a search everything else has its turn', async () => {
  const { reads, lists } = searched();
  const search = lists.page('key', { words: ['a'], limit: 5 });
  const turns: number[] = [];
  while (turns.at(-1) !== 10) {
    await setImmediate();
    turns.push(reads.length);
  }
  await search;
  expect(turns.filter((reads, i) => reads > (turns[i - 1] ?? 0) + 1)).toEqual([]);
});

test('a search of another key comes before the rest of a key that asked for many', async () => {
  const { reads, lists } = searched();
  const page = (owner: string) => lists.page(owner, { words: ['a'], limit: 5 });
  await Promise.all([page('many'), page('many'), page('many'), page('other')]);
  expect(reads.findIndex(({ owner }) => owner === 'other')).toBe(10);
});

test('a search continues where the read before ended, and a page says where the next one begins', async () => {
  const { reads, lists } = searched();
  expect(await lists.page('key', { words: ['a'], limit: 5, after: 'here' })).toMatchObject({
    next_cursor: '10',
  });
  expect(reads.map(({ after }) => after)).toEqual(['here', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
});
