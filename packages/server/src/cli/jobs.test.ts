import { describe, expect, it } from 'vitest';
import { json, serve } from '../../../client/src/testing/test-server.ts';
import { main } from './main.ts';
import { TestTerminal } from './testing/test-terminal.ts';

/** `UTC`, `EST`, `GMT+1`, `GMT+5:30` */
const ZONE = '([A-Z]{2,5}|GMT[+-]\\d+(:\\d+)?)';

describe('a list without active jobs', () => {
  it.each([
    [0, 'No jobs; talaria help jobs create shows how to make one\n'],
    [1, 'No active jobs; 1 is paused, -a shows it\n'],
    [2, 'No active jobs; 2 are paused, -a shows them\n'],
  ])('says that %i are paused', async (paused, message) => {
    const { url } = await serve((response, asked) => {
      const isShown = asked.url.includes('include_disabled=true');
      json(response, 200, { jobs: isShown ? Array(paused).fill({ id: 'x', state: 'paused' }) : [] });
    });
    const terminal = new TestTerminal({ TALARIA_BASE_URL: url });
    expect(await main(['jobs', 'list'], terminal)).toBe(0);
    expect(terminal.stderr.written).toBe(message);
  });
});

it('names the zone of the next time, which need not be that of the schedule', async () => {
  const job = { id: '0123456789ab', name: 'checks', next_run_at: '2026-11-19T05:00:00.000Z' };
  const { url } = await serve((response) => json(response, 200, { job }));
  const terminal = new TestTerminal({ TALARIA_BASE_URL: url });
  expect(await main(['jobs', 'resume', job.id], terminal)).toBe(0);
  const line = `^${job.id} checks: next at 2026-11-\\d\\d \\d\\d:\\d\\d:00 ${ZONE}\n$`;
  expect(terminal.stdout.written).toMatch(new RegExp(line));
});
