/** How docs/reliability.md shows the longest soak; generated.test.ts compares the page with the report. */
import { expect, test } from 'vitest';
import { readReport } from '../../docs/tables/reliability/report.ts';
import { soakSummary, soakTable } from '../../docs/tables/reliability/soak-table.ts';
import { addRound, killsOf, newState } from '../soak/state.ts';

const disruption = { number: 1, from: 0, to: 1 };

test('the rounds of a soak add up, and a pause is no kill', () => {
  const state = newState(7, '0.1.0');
  const result = {
    disruptions: [
      { ...disruption, how: 'kill', target: 'server 1' },
      { ...disruption, how: 'failpoint run.after-claim', target: 'server 1' },
      { ...disruption, how: 'pause', target: 'server 2' },
    ],
    ...{ ends: { 'run.completed': 5 }, work: { run: 5 }, calls: 9, violations: [] },
  };
  addRound(state, 'sqlite', result, '/somewhere');
  addRound(state, 'postgres', result, '/somewhere');
  addRound(state, 'sqlite', { ...result, violations: [{ rule: 'a', of: 'b', what: 'c' }] }, '/somewhere');
  expect(killsOf(state)).toBe(6);
  expect(state.violations).toMatchObject([{ rule: 'a', round: 2 }]);
  expect(soakSummary(state)).toBe('Seed 7, version 0.1.0: 6 kills in 3 rounds and 0 minutes, 1 violations.');
  expect(soakTable(state).split('\n')).toEqual([
    '| | SQLite, one server | Postgres, three servers |',
    '|---|---|---|',
    '| rounds | 2 | 1 |',
    '| **kills** | 4 | 2 |',
    '| server: at a failpoint | 2 | 1 |',
    '| server: kill -9 | 2 | 1 |',
    '| pauses | 2 | 1 |',
    '| **runs that clients followed to their end** | 10 | 5 |',
    '| run.completed | 10 | 5 |',
    '| tool calls in them | 18 | 9 |',
    '| pieces of work: run | 10 | 5 |',
    '',
  ]);
});

test('the report names no path of the machine it was made on', () => {
  expect(JSON.stringify(readReport())).not.toMatch(/\/(home|root|tmp|work)\b/);
});
