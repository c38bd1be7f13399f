import type { Run, SessionMessage } from '@talaria/client';
import { expect, test } from 'vitest';
import { runsAfter } from './runs-after.ts';

const run = (run_id: string, status: Run['status']) => ({ run_id, status }) as Run;
const told = (of: string[], ended: string[]) => ({
  messages: of.map((run_id) => ({ run_id }) as SessionMessage),
  ended: new Set(ended),
});
const shown = (...given: Parameters<typeof runsAfter>) => runsAfter(...given).map(({ run_id }) => run_id);

test('a run at work is shown, before and after the messages are loaded', () => {
  const runs = [run('a', 'running'), run('b', 'started')];
  const seen = new Set(['a', 'b']);
  expect(shown(undefined, runs, seen)).toEqual(['a', 'b']);
  expect(shown(told([], []), runs, seen)).toEqual(['a', 'b']);
});

test('a run whose messages came before its end is not shown twice', () => {
  expect(shown(told(['a'], []), [run('a', 'running')], new Set(['a']))).toEqual([]);
});

test('a run that completed stays until messages are loaded that were asked for after its end', () => {
  const runs = [run('a', 'completed'), run('b', 'completed')];
  const seen = new Set(['a', 'b']);
  expect(shown(told([], []), runs, seen)).toEqual(['a', 'b']);
  expect(shown(told(['a'], ['a']), runs, seen)).toEqual(['b']);
  expect(shown(told(['a', 'b'], ['a', 'b']), runs, seen)).toEqual([]);
});

test('a run that was lost is shown here only while there are no entries to show it among', () => {
  const runs = [run('a', 'failed'), run('b', 'cancelled')];
  const seen = new Set(['a', 'b']);
  expect(shown(undefined, runs, seen)).toEqual(['a', 'b']);
  expect(shown(told([], []), runs, seen)).toEqual([]);
});

test('runs that were over when the page was opened are not shown', () => {
  expect(shown(undefined, [run('a', 'completed'), run('b', 'failed')], new Set())).toEqual([]);
});
