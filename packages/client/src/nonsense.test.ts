/**
 * Answers that are JSON but not what the client asked for: they must cause an error that says so, never a crash or an
 * endless loop.
 */
import { describe, expect, it } from 'vitest';
import { errorOf } from '../../../test/support/error-of.ts';
import { ConnectionError } from './errors.ts';
import type { Talaria } from './talaria.ts';
import { json, serve } from './testing/test-server.ts';

const RUN = 'run_00000000000000000000000000000000';
const ANSWERS = [
  null,
  'ok',
  7,
  [],
  {},
  { data: 'abc', jobs: 7, job: null, run_id: 5, status: 7 },
  { data: [null] },
];

const calls: Record<string, (client: Talaria) => PromiseLike<unknown>> = {
  'runs.create': (client) => client.runs.create({ input: 'hi' }),
  'runs.get': (client) => client.runs.get(RUN),
  'runs.keep': (client) => client.runs.keep(RUN),
  'runs.list': (client) => client.runs.list(),
  'runs.run': (client) => client.runs.run({ input: 'hi' }),
  'artifacts.list': (client) => client.runs.artifacts.list(RUN),
  'runs.diff': (client) => client.runs.diff(RUN),
  'sessions.list': (client) => client.sessions.list(),
  'sessions.messages': (client) => client.sessions.messages('mine'),
  'jobs.list': (client) => client.jobs.list(),
  'jobs.get': (client) => client.jobs.get('0123456789ab'),
};

describe.each(Object.entries(calls))('%s', (_, call) => {
  it.each(ANSWERS.map((answer) => [JSON.stringify(answer), answer]))('of %s', async (_text, answer) => {
    const { client } = await serve((response) => json(response, 200, answer), { maxRetries: 0 });
    expect(await errorOf(Promise.resolve(call(client)))).toBeInstanceOf(ConnectionError);
  });
});

describe('a list of runs', () => {
  const listed = async (client: Talaria): Promise<void> => {
    for await (const _ of client.runs.list());
  };

  it.each([
    ['that has more but no cursor', undefined],
    ['that links to itself', 'again'],
  ])('%s is not read forever', async (_, next_cursor) => {
    const page = { data: [{ run_id: RUN, status: 'completed' }], has_more: true, next_cursor };
    const { client, asked } = await serve((response) => json(response, 200, page), { maxRetries: 0 });
    expect(await errorOf(listed(client))).toBeInstanceOf(ConnectionError);
    expect(asked.length).toBeLessThanOrEqual(2);
  });
});

it('a file without a body is an empty file', async () => {
  const { client } = await serve((response) => response.writeHead(204).end());
  const file = await client.runs.artifacts.read(RUN, 'a');
  expect({ status: file.status, text: await file.text() }).toEqual({ status: 204, text: '' });
});
