/** Poll results that a real server seldom gives: late, hidden, or missing for a while. */
import type { PendingCall } from '@talaria/protocol';
import { expect, it } from 'vitest';
import { waitFor } from '../../../../test/support/wait-for.ts';
import { busy, json, serve } from '../testing/test-server.ts';
import type { ServeOptions } from './serve-tools.ts';

const RUN = 'run_00000000000000000000000000000000';
const call: PendingCall = {
  tool_call_id: 'call_1',
  tool: 'get',
  arguments: {},
  expires_at: Date.now() / 1000 + 600,
};

/** A server whose lists and runs the test controls. */
async function world(options: ServeOptions = {}) {
  const state = {
    listed: [call],
    pending: [call],
    polls: 0,
    failing: false,
    outputs: [] as string[],
    ran: 0,
    signal: undefined as AbortSignal | undefined,
  };
  const run = (pending_calls: PendingCall[]) => ({
    run_id: RUN,
    status: 'waiting_for_approval',
    pending_calls,
  });
  const { client } = await serve((response, { url, body }) => {
    if (url.endsWith('/tool_outputs')) {
      state.outputs.push(body);
      return json(response, 200, { run_id: RUN, accepted: 1 });
    }
    if (url.startsWith('/v1/runs/')) return json(response, 200, run(state.pending));
    state.polls++;
    if (state.failing) return busy(response, 503);
    const data = state.listed.length === 0 ? [] : [run(state.listed)];
    json(response, 200, { object: 'list', data, has_more: false, next_cursor: null });
  });
  const { promise: worked, resolve: finish } = Promise.withResolvers<void>();
  const stop = new AbortController();
  const get = {
    parameters: {},
    execute: async (_: unknown, { signal }: { signal: AbortSignal }) => {
      state.ran++;
      state.signal = signal;
      await worked;
      return 'ok';
    },
  };
  const ended = client.tools.serve({ tools: { get }, signal: stop.signal, pollInterval: 5, ...options });
  return {
    state,
    finish,
    morePolls: () => {
      const seen = state.polls;
      return waitFor('further polls', () => state.polls > seen + 2);
    },
    async [Symbol.asyncDispose]() {
      finish();
      stop.abort();
      await ended;
    },
  };
}

it('a call that the list hides is aborted only when its run does not have it any more', async () => {
  await using test = await world();
  const { state } = test;
  await waitFor('the call', () => state.ran === 1);
  state.listed = [];
  await test.morePolls();
  expect(state.signal!.aborted).toBe(false);
  state.pending = [];
  await waitFor('the call to be told', () => state.signal!.aborted);
  test.finish();
  await test.morePolls();
  expect(state.outputs).toEqual([]);
});

it('a call that is still listed after its answer is not run again', async () => {
  await using test = await world();
  const { state } = test;
  test.finish();
  await waitFor('the answer', () => state.outputs.length === 1);
  await test.morePolls();
  expect(state.ran).toBe(1);
});

it('a failed poll is reported, and the next one finds the calls', async () => {
  const errors: unknown[] = [];
  await using test = await world({ onError: (error) => errors.push(error) });
  const { state } = test;
  await waitFor('the call', () => state.ran === 1);
  state.failing = true;
  await waitFor('failures', () => errors.length > 2);
  expect(errors[0]).toMatchObject({ status: 503 });
  expect(state.signal!.aborted).toBe(false);
  state.listed = [call, { ...call, tool_call_id: 'call_2' }];
  state.failing = false;
  await waitFor('the other call', () => state.ran === 2);
});
