/** What the contract suite showed on each backend, as docs/backends.md says it; generated.test.ts compares the page. */
import { describe, expect, test } from 'vitest';
import { backendTable, COLUMNS, ROWS } from '../../docs/tables/backends/backend-table.ts';
import { mergeResults, type Report, readResults, resultsOf } from '../../docs/tables/backends/results.ts';
import { CONTRACT_PARTS } from '../../packages/sandbox/src/testing/contract-tools.ts';

const shown = (status: string, ...ancestorTitles: string[]) => ({ ancestorTitles, status });
const REPORT: Report = {
  testResults: [
    {
      assertionResults: [
        shown('passed', 'nomad', 'ToolBackend contract: Nomad with docker', 'slots'),
        shown('failed', 'nomad', 'ToolBackend contract: Nomad with docker', 'slots'),
        shown('passed', 'nomad', 'ToolBackend contract: Nomad with docker', 'artifacts', 'archiving'),
        shown('skipped', 'nomad', 'ToolBackend contract: Nomad with docker', 'batches'),
        shown('passed', 'ToolBackend under limits: Nomad with docker', 'memory'),
        shown('passed', 'something else'),
      ],
    },
  ],
};

test('a report is counted by backend and part', () => {
  expect(resultsOf(REPORT)).toEqual({
    'Nomad with docker': {
      slots: { passed: 1, failed: 1, skipped: 0 },
      artifacts: { passed: 1, failed: 0, skipped: 0 },
      batches: { passed: 0, failed: 0, skipped: 1 },
      limits: { passed: 1, failed: 0, skipped: 0 },
    },
  });
});

test('a part that ran replaces its last result, and one that did not run keeps it', () => {
  const known = {
    Docker: { slots: { passed: 1, failed: 1, skipped: 0 }, files: { passed: 7, failed: 0, skipped: 0 } },
  };
  const found = {
    Docker: { slots: { passed: 2, failed: 0, skipped: 0 }, files: { passed: 0, failed: 0, skipped: 7 } },
  };
  expect(mergeResults(known, found)).toEqual({
    Docker: { slots: found.Docker.slots, files: known.Docker.files },
  });
});

test('a failure shows in the table', () => {
  const line = backendTable(resultsOf(REPORT))
    .split('\n')
    .find((each) => each.includes('slots, trajectories'));
  expect(line).toMatch(/^\| slots, trajectories, resets( \| –)+ \| \*\*1 of 2\*\*( \| –)+ \|$/);
});

test('every part of the contract has a row', () => {
  expect(Object.keys(ROWS)).toEqual(expect.arrayContaining([...CONTRACT_PARTS]));
});

describe('the recorded results', () => {
  const results = readResults();

  test('are of the backends and the parts in the table', () => {
    expect(Object.keys(results).sort()).toEqual(Object.keys(COLUMNS).sort());
    for (const parts of Object.values(results))
      expect(Object.keys(ROWS)).toEqual(expect.arrayContaining(Object.keys(parts)));
  });

  test('are without a failure', () => {
    const failed = Object.entries(results).flatMap(([backend, parts]) =>
      Object.entries(parts).flatMap(([part, result]) => (result.failed > 0 ? [`${backend}: ${part}`] : [])),
    );
    expect(failed).toEqual([]);
  });
});
