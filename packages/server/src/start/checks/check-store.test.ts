import { expect, test } from 'vitest';
import { openTempJournal } from '../../journal/sqlite/testing/temp-journal.ts';
import { checkStore } from './check-store.ts';

test('a store that accepts writes is ok', async () => {
  const { journal, dispose } = await openTempJournal();
  expect(await checkStore(journal, 'SQLite')).toEqual({ status: 'ok', detail: 'SQLite', last_error: null });
  await dispose();
});

test('a closed store is not', async () => {
  const { journal, dispose } = await openTempJournal();
  await dispose();
  expect(await checkStore(journal, 'SQLite')).toMatchObject({
    status: 'failed',
    detail: 'SQLite: takes no writes',
  });
});

test('a store that accepts writes again shows what went wrong before', async () => {
  const lastError = { message: 'database or disk is full', at: 1_700_000_000_000 };
  expect(await checkStore({ checkHealth: async () => ({ writable: true, lastError }) }, 'SQLite')).toEqual({
    status: 'ok',
    detail: 'SQLite',
    last_error: { message: 'database or disk is full', at: '2023-11-14T22:13:20.000Z' },
  });
});

test('a store that does not answer is waited for only briefly', async () => {
  expect(await checkStore({ checkHealth: () => new Promise(() => {}) }, 'SQLite', 10)).toEqual({
    status: 'failed',
    detail: 'SQLite: no write within 0.01 s',
    last_error: null,
  });
});
