import { expect, it } from 'vitest';
import { json, serve } from '../../../../client/src/testing/test-server.ts';
import { main } from '../main.ts';
import { TestTerminal } from '../testing/test-terminal.ts';

const RUN = 'run_00000000000000000000000000000000';
const CREATED = 1_790_000_000;

/** The end of a run whose only event comes five seconds after its creation. */
async function endOf(run: object): Promise<string> {
  const event = { event: 'run.failed', run_id: RUN, seq: 0, timestamp: CREATED + 5, error: 'down' };
  const { url } = await serve((response, { url: path }) => {
    if (!path.includes('/events')) json(response, 200, { run_id: RUN, status: 'failed', ...run });
    else {
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`id: 0\ndata: ${JSON.stringify(event)}\n\n`);
    }
  });
  const terminal = new TestTerminal({ TALARIA_BASE_URL: url });
  expect(await main(['watch', RUN], terminal)).toBe(3);
  return terminal.stderr.written;
}

it('counts the time of a run from its creation', async () => {
  expect(await endOf({ created_at: CREATED })).toBe(`✗ failed after 5.0s: down · ${RUN}\n`);
});

it('counts the time from the first event if the server does not tell of the creation', async () => {
  expect(await endOf({})).toBe(`✗ failed after 0.0s: down · ${RUN}\n`);
});
