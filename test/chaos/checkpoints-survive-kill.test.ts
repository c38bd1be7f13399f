/**
 * The files of a run survive `kill -9` around a checkpoint: the run continues with all of them, and what the next run of its
 * session begins with is what this one ended with.
 */
import { randomUUID } from 'node:crypto';
import type { ArtifactList } from '@talaria/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { KillableServer, type Moment } from './killable-server.ts';
import { ofKind } from './marked-run.ts';

/** Between the bytes of a checkpoint and its record. The soak tests have more. */
const MOMENTS: Moment[] = ['checkpoint.after-blob'];
const MORE_MOMENTS: Moment[] = [
  'checkpoint.after-record@2',
  'blob.before-whole',
  'blob.after-whole',
  'checkpoint.after-blob@2',
  'checkpoint.after-record',
  'run.before-terminal',
  'run.after-terminal',
];

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

const call = (command: string) => ({ tools: [{ name: 'terminal', arguments: { command } }] });

test.each(MOMENTS)('%s', survives);
test.each(MORE_MOMENTS)('%s', { tags: ['soak'] }, survives);

async function survives(moment: Moment): Promise<void> {
  await using server = new KillableServer({ modelUrl: model.url });
  await server.start(moment);
  const session = { session_id: `s-${randomUUID()}` };
  // The first checkpoint is too large to come with its record.
  const steps = [call('head -c 300000 /dev/urandom > one'), call('echo two > two; rm one'), { text: 'done' }];
  const creating = server.create(script(steps), session);
  await server.diesByItself(moment);
  await server.start();
  const events = await server.follow(await creating);
  expect(events.at(-1)).toMatchObject({ event: 'run.completed' });
  const next = await server.create(script([call('cat *; ls'), { text: 'done' }]), session);
  const looked = (await server.follow(next)).flatMap((event) =>
    event.event === 'tool.completed' ? [event.preview] : [],
  );
  expect(looked).toEqual(['two\ntwo\n']);
}

test.each<Moment>(['tool.after-outcome', 'tool.after-effect'])(
  'the files after a step whose server was killed at %s are kept before the next step',
  async (moment) => {
    await using server = new KillableServer({ modelUrl: model.url });
    await server.start(moment);
    const creating = server.create(
      script([call('echo one > one'), call('echo two > two'), { text: 'done' }]),
    );
    await server.diesByItself(moment);
    await server.start();
    const runId = await creating;
    const next = ofKind(await server.follow(runId), 'step.completed')[1]!;
    const { body } = await server.api.get<ArtifactList>(`/v1/runs/${runId}/artifacts?at=${next.seq}`);
    expect(body.data.map(({ path }) => path)).toEqual(['one']);
  },
);
