/** A fork has the files of its run as they were after the event, and neither sees what the other does later. */
import { randomUUID } from 'node:crypto';
import type { RunCreated } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api, Frame } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ofKind, ServerWithModel, terminal } from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_CHECKPOINT_MAX_BYTES: '100000' });
});
afterAll(() => world[Symbol.asyncDispose]());

const STEPS = [
  { tools: [terminal('echo one > one; mkdir d; echo 1 > d/n')] },
  { tools: [terminal('echo two > two; echo 2 > d/n')] },
  { tools: [terminal('rm one two; rm d/n')] },
  { text: 'done' },
];
const LOOK = 'ls; cat d/n';
const look = (command = LOOK) => script([{ tools: [terminal(command)] }, { text: 'done' }]);

/** A run that has made files and removed them; the seqs of its completed calls. */
async function source(
  api: Api,
  fields: Record<string, unknown> = {},
): Promise<{ runId: string; made: number[] }> {
  const runId = await api.create(script(STEPS), fields);
  const { frames } = await endsAs(api, runId, 'run.completed');
  const made = frames.filter(({ event }) => event.event === 'tool.completed').map(({ id }) => Number(id));
  return { runId, made };
}

async function fork(api: Api, runId: string, body: Record<string, unknown>): Promise<string> {
  const answer = await api.post<RunCreated>(`/v1/runs/${runId}/fork`, body);
  expect(answer).toMatchObject({ status: 202 });
  return answer.body.run_id;
}

/** What the first command of the run printed. */
async function printed(api: Api, runId: string): Promise<string> {
  const { frames } = await endsAs(api, runId, 'run.completed');
  return ofKind(frames as Frame[], 'tool.completed')[0]!.preview;
}

/** What a fork of the run finds in its workspace. */
async function found(api: Api, runId: string, at?: number, command?: string): Promise<string> {
  return printed(api, await fork(api, runId, { input: look(command), ...(at === undefined ? {} : { at }) }));
}

describe('a fork', () => {
  test('has the files as they were after the event', async () => {
    const { runId, made } = await source(world.api);
    expect(await found(world.api, runId, made[0])).toBe('d\none\n1\n');
    expect(await found(world.api, runId, made[1])).toBe('d\none\ntwo\n2\n');
    expect(await found(world.api, runId, made[1]! + 1)).toBe('d\none\ntwo\n2\n');
    expect(await found(world.api, runId, undefined, 'ls; ls d')).toBe('d\n');
    expect(await found(world.api, runId, 0, 'ls')).toBe('');
  });

  test('changes nothing of its run, and has files of its own', async () => {
    const { runId, made } = await source(world.api);
    const first = await fork(world.api, runId, { at: made[0], input: look('echo changed > one') });
    await printed(world.api, first);
    expect(await found(world.api, runId, made[0], 'cat one')).toBe('one\n');
    expect(await found(world.api, first, undefined, 'cat one')).toBe('changed\n');
    const { body } = await world.api.get(`/v1/runs/${first}/artifacts/content?path=one`);
    expect(body).toBe('changed\n');
  });

  test('begins with what its run began with, and outlives it', async () => {
    await using server = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '3' });
    const workspace = { files: [{ path: 'given', content: 'given\n' }] };
    const { runId } = await source(server.api, { workspace });
    const first = await fork(server.api, runId, { at: 0, input: look('ls') });
    expect(await printed(server.api, first)).toBe('given\n');
    const second = await fork(server.api, first, {
      input: script([{ tools: [terminal('cat given')] }, { text: 'done', gate: 'second' }]),
    });
    await waitFor('the first two to be evicted', async () => {
      const answers = await Promise.all([runId, first].map((id) => server.api.get(`/v1/runs/${id}`)));
      return answers.every(({ status }) => status === 404);
    });
    const { body } = await server.api.get(`/v1/runs/${second}/artifacts/content?path=given`);
    expect(body).toBe('given\n');
    server.model.open('second');
    expect(await printed(server.api, second)).toBe('given\n');
  });

  test('of a run that failed, and of one that was stopped in a call, goes back to before that', async () => {
    const failing = script([...STEPS.slice(0, 2), { error: { status: 400, message: 'no' } }]);
    const failed = await world.api.create(failing);
    await endsAs(world.api, failed, 'run.failed');
    expect(await found(world.api, failed)).toBe('d\none\ntwo\n2\n');
    const stopped = await world.api.create(
      script([...STEPS.slice(0, 1), { tools: [terminal('echo half > half; sleep 1000')] }]),
    );
    await waitFor('the second command to begin', async () =>
      JSON.stringify((await world.api.get(`/v1/runs/${stopped}/artifacts`)).body).includes('half'),
    );
    await world.api.stop(stopped);
    await endsAs(world.api, stopped, 'run.cancelled');
    expect(await found(world.api, stopped)).toBe('d\none\n1\n');
  });

  test('of a turn of a session has the files of that turn, in a session of its own', async () => {
    const session = { session_id: `s-${randomUUID()}` };
    const { runId, made } = await source(world.api, session);
    await endsAs(
      world.api,
      await world.api.create(look('echo later > later; echo 3 > d/n'), session),
      'run.completed',
    );
    const first = await fork(world.api, runId, { at: made[0], input: look() });
    expect(await printed(world.api, first)).toBe('d\none\n1\n');
    const { session_id } = await world.api.run(first);
    expect(session_id).not.toBe(session.session_id);
    const next = await world.api.create(look(), { session_id });
    expect(await printed(world.api, next)).toBe('d\none\n1\n');
    const original = await world.api.create(look('cat later'), session);
    expect(await printed(world.api, original)).toBe('later\n');
  });

  test('of a turn that waits for the one before it has the files of the session as they are now', async () => {
    const session = { session_id: `s-${randomUUID()}` };
    await source(world.api, session);
    const gate = `gate-${randomUUID()}`;
    const busy = script([{ tools: [terminal('echo busy > busy')] }, { gate, text: 'done' }]);
    const running = await world.api.create(busy, session);
    await world.model.waitingAt(gate);
    const waiting = await world.api.create(look(), session);
    expect(await found(world.api, waiting, undefined, 'ls')).toBe('d\n');
    world.model.open(gate);
    await endsAs(world.api, running, 'run.completed');
    expect(await found(world.api, waiting, undefined, 'ls')).toBe('busy\nd\n');
  });

  test('is refused where the files were not kept', async () => {
    const large = 'head -c 120000 /dev/urandom > large';
    const runId = await world.api.create(
      script([{ tools: [terminal('echo small > small')] }, { tools: [terminal(large)] }, { text: 'done' }]),
    );
    const { frames } = await endsAs(world.api, runId, 'run.completed');
    const [made] = frames.filter(({ event }) => event.event === 'tool.completed');
    expect(await found(world.api, runId, Number(made!.id), 'ls')).toBe('small\n');
    expect(await world.api.post(`/v1/runs/${runId}/fork`, { input: 'x' })).toMatchObject({
      status: 409,
      body: { error: { code: 'checkpoint_gone' } },
    });
  });

  test('is refused for a run with tools on a server without checkpoints', async () => {
    await using server = await ServerWithModel.start({ TALARIA_CHECKPOINTS: 'false' });
    const { runId } = await source(server.api);
    const { status } = await server.api.post(`/v1/runs/${runId}/fork`, { input: 'x' });
    expect(status).toBe(409);
    const text = await server.api.create(script([{ text: 'done' }]));
    await endsAs(server.api, text, 'run.completed');
    await endsAs(
      server.api,
      await fork(server.api, text, { input: script([{ text: 'again' }]) }),
      'run.completed',
    );
  });
});
