/** The runs of a session work in the same files, turn after turn, and these live as long as the session. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ofKind, ServerWithModel, terminal } from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ API_SERVER_KEY: 'sk-test-0123456789' });
});
afterAll(() => world[Symbol.asyncDispose]());

const look = (command: string) => script([{ tools: [terminal(command)] }, { text: 'done' }]);

/** What a command of a new run prints. */
async function turn(api: Api, command: string, request: Record<string, unknown> = {}): Promise<string> {
  const runId = await api.create(look(command), request);
  const { frames } = await endsAs(api, runId, 'run.completed');
  return ofKind(frames, 'tool.completed')[0]!.preview;
}

const inSession = () => ({ session_id: `s-${randomUUID()}` });

describe('a run of a session', () => {
  test('continues with the files of the run before it, with their permissions and links', async () => {
    const session = inSession();
    await turn(world.api, 'mkdir -p a; echo one > a/file; chmod 700 a/file; ln -s a/file link', session);
    expect(await turn(world.api, 'cat link; stat -c %a a/file; echo two >> link', session)).toBe(
      'one\n700\n',
    );
    expect(await turn(world.api, 'cat a/file', session)).toBe('one\ntwo\n');
    expect(await turn(world.api, 'ls')).toBe('');
  });

  test('leaves the files of the run before it as they were', async () => {
    const session = inSession();
    const first = await world.api.create(look('echo one > file'), session);
    await endsAs(world.api, first, 'run.completed');
    await turn(world.api, 'echo two > file', session);
    const { body } = await world.api.get(`/v1/runs/${first}/artifacts/content?path=file`);
    expect(body).toBe('one\n');
  });

  test('puts what its request brings over them', async () => {
    const session = inSession();
    await turn(world.api, 'echo old > a; echo old > b', session);
    const workspace = { files: [{ path: 'b', content: 'new\n' }] };
    expect(await turn(world.api, 'cat a b', { ...session, workspace })).toBe('old\nnew\n');
    expect(await turn(world.api, 'cat a b', session)).toBe('old\nnew\n');
  });

  test('begins with none if it asks for a fresh workspace, and the session continues with its files', async () => {
    const session = inSession();
    await turn(world.api, 'echo old > old', session);
    expect(await turn(world.api, 'ls; echo new > new', { ...session, workspace: { fresh: true } })).toBe('');
    expect(await turn(world.api, 'ls', session)).toBe('new\n');
    const refused = { input: 'x', workspace: { fresh: 1 } };
    expect(await world.api.post('/v1/runs', refused)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_workspace', message: "'workspace.fresh' must be true or false" } },
    });
  });

  test('continues after one that failed and one that was stopped in the middle of a call', async () => {
    const session = inSession();
    const failing = script([
      { tools: [terminal('echo made > made')] },
      { error: { status: 400, message: 'no' } },
    ]);
    await endsAs(world.api, await world.api.create(failing, session), 'run.failed');
    const stopped = await world.api.create(
      look('cat made > copied; echo begun > begun; sleep 1000'),
      session,
    );
    await waitFor('the command to begin', async () => {
      const { body } = await world.api.get(`/v1/runs/${stopped}/artifacts`);
      return JSON.stringify(body).includes('begun');
    });
    await world.api.stop(stopped);
    await endsAs(world.api, stopped, 'run.cancelled');
    expect(await turn(world.api, 'cat begun copied', session)).toBe('begun\nmade\n');
  });

  test('continues one that only had a run id, while that is kept', async () => {
    const first = await world.api.create(look('echo one > file'));
    await endsAs(world.api, first, 'run.completed');
    expect(await turn(world.api, 'cat file', { session_id: first })).toBe('one\n');
  });

  test('of chat completions and responses continues, too', async () => {
    const messages = (command: string) => ({ messages: [{ role: 'user', content: look(command) }] });
    const key = { 'X-Hermes-Session-Id': `s-${randomUUID()}` };
    await world.api.post('/v1/chat/completions', messages('echo chat > file'), key);
    const { body } = await world.api.post<{ id: string }>('/v1/responses', {
      input: look('echo response > file'),
    });
    const next = await world.api.post('/v1/responses', {
      input: look('cat file'),
      previous_response_id: body.id,
    });
    expect(JSON.stringify(next.body)).toContain('response\\n');
    expect(await turn(world.api, 'cat file', { session_id: key['X-Hermes-Session-Id'] })).toBe('chat\n');
  });
});

describe('the files of a session', () => {
  test('outlive its runs and a restart, also in a fork, which says that they are those of now, and end with it', async () => {
    await using server = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '1' });
    const session = inSession();
    const first = await server.api.create(look('echo kept > file'), session);
    await endsAs(server.api, first, 'run.completed');
    await turn(server.api, 'echo later >> file', session);
    await waitFor('the run to be evicted', async () => {
      return (await server.api.get(`/v1/runs/${first}`)).status === 404;
    });
    await server.server.restart();
    const fork = await server.api.post<{ id: string }>(`/api/sessions/${session.session_id}/fork`, {
      messages: 4,
    });
    expect(fork.body).toMatchObject({ files_as_of: 'now', message_count: 4 });
    expect(await turn(server.api, 'cat file', { session_id: fork.body.id })).toBe('kept\nlater\n');
    expect(await turn(server.api, 'cat file', session)).toBe('kept\nlater\n');
    const { status } = await server.api.request('DELETE', `/api/sessions/${session.session_id}`);
    expect(status).toBe(200);
    expect(await turn(server.api, 'ls', session)).toBe('');
  });

  test('are copied by a fork', async () => {
    const session = inSession();
    await turn(world.api, 'echo one > file', session);
    const id = `fork-${randomUUID()}`;
    const fork = await world.api.post(`/api/sessions/${session.session_id}/fork`, { id });
    expect(fork.status).toBe(201);
    await turn(world.api, 'echo two > file', session);
    expect(await turn(world.api, 'cat file', { session_id: id })).toBe('one\n');
    expect(await turn(world.api, 'cat file', session)).toBe('two\n');
  });

  const title = 'are those of the time in a fork from an earlier message';
  test(title, () => areThoseOfTheTime([1, 6, 9, 12]));
  test(`${title}, whichever it is`, { tags: ['soak'] }, () => areThoseOfTheTime([0, 1, 4, 6, 7, 9, 11, 12]));

  async function areThoseOfTheTime(places: readonly number[]): Promise<void> {
    const session = inSession();
    await turn(world.api, 'echo one > file', session);
    await endsAs(
      world.api,
      await world.api.create(script([{ text: 'just talk' }]), session),
      'run.completed',
    );
    const steps = [{ tools: [terminal('echo two > file')] }, { tools: [terminal('echo three > file')] }];
    const busy = script([...steps, { text: 'done' }]);
    await endsAs(world.api, await world.api.create(busy, session), 'run.completed');
    const { body } = await world.api.get<{ data: { role: string; content: unknown }[] }>(
      `/api/sessions/${session.session_id}/messages`,
    );
    const roles = body.data.map(({ role }) => role);
    expect(roles.join(' ')).toBe(
      'user assistant tool assistant user assistant user assistant tool assistant tool assistant',
    );
    const found = async (messages: number) => {
      const fork = await world.api.post<{ id: string; files_as_of: string }>(
        `/api/sessions/${session.session_id}/fork`,
        { messages },
      );
      return [
        fork.body.files_as_of,
        await turn(world.api, 'cat file; ls | wc -l', { session_id: fork.body.id }),
      ];
    };
    const [none, one, two, three] = ['0\n', 'one\n1\n', 'two\n1\n', 'three\n1\n'];
    const expected: Record<number, [string, unknown]> = {
      0: ['last_message', expect.stringContaining(none)],
      // After the prompt of the first turn, after the turn, and after the one that was only talk.
      1: ['last_message', expect.stringContaining(none)],
      4: ['last_message', one],
      6: ['last_message', one],
      // In the last turn: after its prompt, after each of its steps, and all of it.
      7: ['last_message', one],
      9: ['last_message', two],
      11: ['last_message', three],
      12: ['now', three],
    };
    for (const place of places) expect(await found(place)).toEqual(expected[place]);
  }

  test('are those of the time in a response that continues an earlier one', async () => {
    const respond = async (command: string, previous?: string) => {
      const request = { input: look(command), previous_response_id: previous };
      const { body } = await world.api.post<{ id: string }>('/v1/responses', request);
      return { id: body.id, said: JSON.stringify(body) };
    };
    const first = await respond('echo one > file');
    const second = await respond('echo two > file', first.id);
    expect((await respond('cat file', first.id)).said).toContain('one\\n');
    expect((await respond('cat file', second.id)).said).toContain('two\\n');
  });

  test('are those of a fork of a run, also if the fork only talks', async () => {
    const session = inSession();
    const first = await world.api.create(look('echo one > file'), session);
    await endsAs(world.api, first, 'run.completed');
    await turn(world.api, 'echo two > file', session);
    const input = script([{ text: 'just talk' }]);
    const fork = await world.api.post<{ run_id: string }>(`/v1/runs/${first}/fork`, { input });
    await endsAs(world.api, fork.body.run_id, 'run.completed');
    const { session_id } = await world.api.run(fork.body.run_id);
    expect(await turn(world.api, 'cat file', { session_id })).toBe('one\n');
  });

  test('are not shared where the operator wants fresh workspaces', async () => {
    await using server = await ServerWithModel.start({ TALARIA_SESSION_WORKSPACE: 'fresh' });
    const session = inSession();
    await turn(server.api, 'echo one > file', session);
    expect(await turn(server.api, 'ls', session)).toBe('');
  });
});
