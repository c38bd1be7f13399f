import { describe, expect, it } from 'vitest';
import { json, serve } from '../../../client/src/testing/test-server.ts';
import { main } from './main.ts';
import { TestTerminal } from './testing/test-terminal.ts';

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
