import type { Run } from '@talaria/client';
import { expect, it } from 'vitest';
import { waitFor } from '../../../../../test/support/wait-for.ts';
import { json, serve } from '../../../../client/src/testing/test-server.ts';
import { main } from '../main.ts';
import { TestTerminal } from '../testing/test-terminal.ts';
import { describeRun } from './describe-run.ts';

/** A run of some days ago: its age does not change while a test looks. */
const finished = (digit: number): Partial<Run> => ({
  run_id: `run_${String(digit).repeat(32)}`,
  session_id: 'work',
  status: 'completed',
  created_at: Date.now() / 1000 - 3.5 * 24 * 3600,
  last_event: 'run.completed',
  input: `Question ${digit}`,
});

it('draws the table once for all runs that are there, each with its prompt', async () => {
  const { url } = await serve((response, { url: path }) => {
    if (path.startsWith('/v1/feed')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n: cursor 1\n\n');
    } else json(response, 200, { object: 'list', data: [5, 4, 3, 2, 1].map(finished), has_more: false });
  });
  const terminal = new TestTerminal({ TALARIA_BASE_URL: url });
  const reader = new AbortController();
  const { stdout } = terminal;
  Object.assign(stdout, { canRedraw: true, columns: 100, rows: 50, closed: reader.signal });
  const ended = main(['runs', '--watch'], terminal);
  await waitFor('the newest run', () => stdout.written.includes('Question 5'));
  const drawn = stdout.written.match(/Question 1/g);
  reader.abort();
  expect(await ended).toBe(0);
  expect(drawn).toHaveLength(1);
  expect(stdout.written).not.toContain('run.completed');
});

it('describes a run by its last event until it has ended', () => {
  const run = { ...finished(1), status: 'running', last_event: 'tool.started' } as Run;
  expect(describeRun(run)).toBe('tool.started');
  expect(describeRun({ ...run, status: 'cancelled' })).toBe('Question 1');
  expect(describeRun({ ...run, status: 'completed', output: 'Answer' })).toBe('Answer');
  expect(describeRun({ ...run, status: 'failed', evicted: true })).toBe('evicted: Question 1');
});
