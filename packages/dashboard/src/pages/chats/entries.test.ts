import type { Run } from '@talaria/client';
import { expect, test } from 'vitest';
import { entriesOf } from './entries.ts';
import type { Turn } from './turns.ts';

const run = (run_id: string, status: Run['status'], created_at: number) =>
  ({ run_id, status, created_at }) as Run;
const turn = (runId: string, at: number) => ({ runId, at }) as Turn;
const names = (given: Parameters<typeof entriesOf>[0]) =>
  entriesOf(given).map((entry) => (entry.kind === 'turn' ? entry.turn.runId : `${entry.run.run_id} lost`));

test('runs that failed or were stopped stand between the turns, where they were asked for', () => {
  const runs = [
    run('a', 'completed', 1),
    run('b', 'failed', 2),
    run('c', 'completed', 3),
    run('d', 'cancelled', 4),
    run('e', 'running', 5),
  ];
  expect(names({ turns: [turn('a', 1.5), turn('c', 9)], runs, isCut: false })).toEqual([
    'a',
    'b lost',
    'c',
    'd lost',
  ]);
});

test('a turn whose run is not known any more has the time of its messages', () => {
  const runs = [run('b', 'failed', 2), run('d', 'failed', 6)];
  expect(names({ turns: [turn('a', 1), turn('c', 5)], runs, isCut: false })).toEqual([
    'a',
    'b lost',
    'c',
    'd lost',
  ]);
});

test('where turns are left out, so are the lost ones between them', () => {
  const runs = [run('a', 'failed', 1), run('c', 'failed', 7)];
  expect(names({ turns: [turn('b', 5)], runs, isCut: true })).toEqual(['b', 'c lost']);
  expect(names({ turns: [], runs, isCut: false })).toEqual(['a lost', 'c lost']);
});
