/** `/v1/slots`: the sandbox without the agent, over HTTP (PROTOCOL.md, "Slots"). */
import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createSseParser, type Slot, type SlotList, type SlotResult } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isConnectionLoss } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { CheckedApi, expectError, expectSecurityHeaders, expectShape } from './checked-api.ts';

const [ADA, BOB] = ['sk-slots-of-ada', 'sk-slots-of-bob'];
const MISSING = `slot_${'0'.repeat(32)}`;
const ENV = {
  API_SERVER_KEYS: `ada:${ADA},bob:${BOB}`,
  TALARIA_SLOTS: 'true',
  TALARIA_MAX_SLOTS: '4',
  TALARIA_MAX_SLOTS_PER_KEY: '3',
  TALARIA_SLOT_WAIT_SECONDS: '600',
  TALARIA_TOOL_TIMEOUT_SECONDS: '60',
};

interface Results {
  results: SlotResult[];
}

let server: HostedServer;
const ada = () => new CheckedApi(server.url, ADA);
const bob = () => new CheckedApi(server.url, BOB);

beforeAll(async () => {
  server = await HostedServer.start({ env: ENV });
});
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(async () => {
  for (const api of [ada(), bob()]) {
    for (const { id } of (await list(api)).data) await release(api, id, { reset_workspace: true });
  }
});

async function acquire(api: CheckedApi, trajectory_id?: string): Promise<Slot> {
  const { status, body } = await api.post<Slot>('/v1/slots', { trajectory_id });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

const release = (api: CheckedApi, id: string, body: object = {}) => api.post(`/v1/slots/${id}/release`, body);

async function list(api: CheckedApi): Promise<SlotList> {
  return (await api.get<SlotList>('/v1/slots')).body;
}

function bash(slot: Slot | string, command: string): object {
  return { slot_id: typeof slot === 'string' ? slot : slot.id, tool: 'bash', args: { command } };
}

async function execute(api: CheckedApi, requests: object[], fields: object = {}): Promise<SlotResult[]> {
  const { status, body } = await api.post<Results>('/v1/slots/execute', { requests, ...fields });
  expect(status, JSON.stringify(body)).toBe(200);
  expectShape(schemas.SlotResultsSchema, body);
  return body.results;
}

describe('a slot', () => {
  it('runs commands in its own workspace', async () => {
    const [one, two] = [await acquire(ada()), await acquire(ada())];
    expect(one).toMatchObject({ trajectory_id: null, state: 'acquired' });
    const [wrote, saw] = await execute(ada(), [bash(one, 'pwd; echo mine > file'), bash(two, 'ls')]);
    expect(wrote).toMatchObject({ success: true, output: `${one.workspace_dir}\n`, slot_id: one.id });
    expect(saw).toMatchObject({ success: true, output: '', slot_id: two.id });
  });

  it('of a trajectory is the same while it is held, and has the same files afterwards', async () => {
    const first = await acquire(ada(), 'task/1 ü');
    expect(first.trajectory_id).toBe('task/1 ü');
    expect(await acquire(ada(), 'task/1 ü')).toEqual(first);
    await execute(ada(), [bash(first, 'echo kept > file')]);
    expect((await release(ada(), first.id)).body).toEqual({ id: first.id, released: true });
    const second = await acquire(ada(), 'task/1 ü');
    expect(second.id).not.toBe(first.id);
    expect((await execute(ada(), [bash(second, 'cat file')]))[0]).toMatchObject({ output: 'kept\n' });
  });

  it('that was reset has nothing left: no file, no process, no variable', async () => {
    const first = await acquire(ada(), 'clean');
    const left = 'echo x > file; export LEFT=1; sleep 300 & echo $!';
    await execute(ada(), [
      { slot_id: first.id, tool: 'bash', args: { command: left, stateful: true } },
      { slot_id: first.id, tool: 'bash', args: { command: 'sleep 300', background: true } },
    ]);
    await release(ada(), first.id, { reset_workspace: true });
    const second = await acquire(ada(), 'clean');
    const look = 'ls -A; echo "left: $LEFT"; pgrep -c sleep';
    const call = { slot_id: second.id, tool: 'bash', args: { command: look, stateful: true } };
    expect((await execute(ada(), [call]))[0]!.output).toBe('left: \n0\n');
  });

  it('does not exist for another key, on any route', async () => {
    const { id } = await acquire(ada(), 'shared-name');
    for (const missing of [id, MISSING, 'nonsense']) {
      const refusals = [
        await bob().post('/v1/slots/execute', { requests: [bash(missing, 'true')] }),
        await release(bob(), missing),
        await bob().get(`/v1/slots/${missing}/artifacts`),
        await bob().get(`/v1/slots/${missing}/artifacts/content?path=file`),
        await bob().get(`/v1/slots/${missing}/artifacts/archive`),
      ];
      for (const refusal of refusals) {
        expectError(refusal, { status: 404, code: 'slot_not_found', param: 'slot_id' });
      }
    }
    expect((await list(bob())).data).toEqual([]);
    expect((await acquire(bob(), 'shared-name')).id).not.toBe(id);
    expect((await list(ada())).data).toMatchObject([{ id }]);
  });
});

describe('a batch', () => {
  it('is answered in the order of its requests, and no call affects another', async () => {
    const slot = await acquire(ada());
    const results = await execute(
      ada(),
      [
        bash(slot, 'sleep 0.3; echo slow'),
        bash(slot, 'echo quick; exit 3'),
        { slot_id: slot.id, tool: 'fly', args: {} },
        { slot_id: slot.id, tool: 'read_file', args: { path: '../../etc/passwd' } },
        bash(MISSING, 'true'),
        bash(slot, 'sleep 60'),
      ],
      { timeout_s: 2 },
    );
    expect(results).toMatchObject([
      { success: true, output: 'slow\n' },
      { success: false, output: 'quick\n', metadata: { exit_code: 3 } },
      { success: false, metadata: { failure: 'invalid_request' } },
      { success: false },
      { success: false, slot_id: MISSING, metadata: { failure: 'gone' } },
      { success: false, metadata: { failure: 'timeout', timed_out: true } },
    ]);
  });

  it('sends each result as soon as it is there to a client that asks for events', async () => {
    const slot = await acquire(ada());
    const requests = [
      bash(slot, 'until [ -e go ]; do sleep 0.05; done; echo last'),
      bash(slot, 'echo first'),
    ];
    const frames: { event: string; data: { index: number; result: SlotResult } }[] = [];
    const response = await fetch(`${server.url}/v1/slots/execute`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADA}`, accept: 'text/event-stream' },
      body: JSON.stringify({ requests }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expectSecurityHeaders(response.headers);
    const parser = createSseParser({
      onMessage({ event, data }) {
        frames.push({ event, data: JSON.parse(data) });
        // The second call continues only because the result of the first has arrived.
        if (frames.length === 1) void execute(ada(), [bash(slot, 'touch go')]);
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) parser.feed(decoder.decode(chunk, { stream: true }));
    expect(frames).toMatchObject([
      { event: 'slot.result', data: { index: 1, result: { output: 'first\n' } } },
      { event: 'slot.result', data: { index: 0, result: { output: 'last\n' } } },
      { event: 'slot.done', data: { results: 2 } },
    ]);
    for (const { data } of frames.slice(0, 2)) expectShape(schemas.SlotResultEventSchema, data);
  });

  it('ends when its client leaves', async () => {
    const slot = await acquire(ada());
    const leaving = new AbortController();
    const request = fetch(`${server.url}/v1/slots/execute`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADA}` },
      body: JSON.stringify({ requests: [bash(slot, 'touch begun; sleep 50')] }),
      signal: leaving.signal,
    });
    const begun = async () => (await execute(ada(), [bash(slot, 'ls')]))[0]!.output === 'begun\n';
    await waitFor('the command to begin', begun);
    leaving.abort();
    await expect(request).rejects.toThrow();
    await waitFor('nothing to run', async () => (await list(ada())).data[0]!.state === 'acquired');
  });

  it('is refused if it is malformed, or names only unknown slots', async () => {
    const { id } = await acquire(ada());
    const post = (body: object) => ada().post('/v1/slots/execute', body);
    const invalid = { status: 400, code: 'invalid_request' };
    expectError(await post({}), { ...invalid, param: 'requests' });
    expectError(await post({ requests: [{ slot_id: id }] }), { ...invalid, param: 'requests[0].tool' });
    const call = bash(id, 'true');
    expectError(await post({ requests: [call], timeout_s: 61 }), { ...invalid, param: 'timeout_s' });
    expectError(await post({ requests: [bash(MISSING, 'true')] }), { status: 404, code: 'slot_not_found' });
    expectError(await ada().request('POST', '/v1/slots/execute', { raw: '{' }), {
      status: 400,
      code: 'invalid_json',
    });
  });
});

describe('files of a slot', () => {
  const TEXT = 'first\nsecond — ünï\n';
  let slot: Slot;
  const url = (path: string, query: Record<string, string> = {}) =>
    `/v1/slots/${slot.id}/artifacts${path}?${new URLSearchParams(query)}`;

  async function makeFiles(): Promise<void> {
    slot = await acquire(ada());
    await execute(ada(), [
      { slot_id: slot.id, tool: 'write_file', args: { path: 'notes/text.md', content: TEXT } },
      bash(slot, 'printf "\\377\\000" > bytes; ln -s /etc/passwd link'),
    ]);
  }

  it('are listed, read and archived like files of a run', async () => {
    await makeFiles();
    const listed = await ada().get<{ slot_id: string; data: { path: string }[] }>(
      url('', { recursive: '1' }),
    );
    expect(listed.body).toMatchObject({ object: 'list', slot_id: slot.id, truncated: false });
    expect(listed.body.data.map(({ path }) => path)).toEqual(['bytes', 'link', 'notes', 'notes/text.md']);
    const content = await ada().get(url('/content', { path: 'notes/text.md' }));
    expect({ status: content.status, body: content.body }).toEqual({ status: 200, body: TEXT });
    const archive = await fetch(server.url + url('/archive', { path: 'notes', format: 'tar.gz' }), {
      headers: { authorization: `Bearer ${ADA}` },
    });
    expect(gunzipSync(await archive.arrayBuffer()).includes(TEXT)).toBe(true);
    const whole = await fetch(server.url + url('/archive', { archive_format: 'tgz', max_bytes: '100000' }), {
      headers: { authorization: `Bearer ${ADA}` },
    });
    expect(whole.headers.get('x-talaria-entry-count')).toBe('3');
    expect(gunzipSync(await whole.arrayBuffer()).includes(TEXT)).toBe(true);
    expectError(await ada().get(url('/content', { path: 'link' })), { status: 400, code: 'invalid_path' });
    expectError(await ada().get(url('/content', { path: 'none' })), {
      status: 404,
      code: 'artifact_not_found',
    });
    const few = await ada().get(url('', { max_entries: '1' }));
    expect(few.body).toMatchObject({ data: [{ path: 'bytes' }], truncated: true });
  });

  it('are not the whole outputs of its commands, which can be read at the paths of their results', async () => {
    slot = await acquire(ada());
    const [printed] = await execute(ada(), [bash(slot, 'seq 1 20000')]);
    const { full_output_path: path = '', total_bytes: size } = printed!.metadata;
    expect((await ada().get<{ data: object[] }>(url('', { recursive: '1' }))).body.data).toEqual([]);
    const whole = await ada().get<string>(url('/content', { path }));
    expect(whole.body).toHaveLength(size!);
    expect(whole.body.endsWith('\n19999\n20000\n')).toBe(true);
    const part = await ada().get(url('/content', { path, max_bytes: '4' }));
    expect(part.body).toMatchObject({ path, content: '1\n2\n', size, truncated: true });
    const wrong = { status: 400, code: 'invalid_path' };
    expectError(await ada().get(url('/content', { path: `${path}/../../x` })), wrong);
    expectError(await ada().get(url('', { path })), wrong);
    expectError(await ada().get(url('/archive', { path })), wrong);
    const other = await acquire(ada());
    expect((await ada().get(`/v1/slots/${other.id}/artifacts/content?path=${path}`)).status).toBe(404);
    expectError(await bob().get(url('/content', { path })), { status: 404, code: 'slot_not_found' });
  });

  it('come as JSON if the request names an encoding, a limit or a digest', async () => {
    await makeFiles();
    const json = async (path: string, query: Record<string, string>) => {
      const { status, body } = await ada().get(url('/content', { path, ...query }));
      expect(status, JSON.stringify(body)).toBe(200);
      expectShape(schemas.SlotArtifactSchema, body);
      return body;
    };
    const size = Buffer.byteLength(TEXT);
    const sha256 = createHash('sha256').update(TEXT).digest('hex');
    expect(await json('notes/text.md', { include_sha256: 'true' })).toEqual({
      path: 'notes/text.md',
      encoding: 'text',
      content: TEXT,
      size,
      truncated: false,
      sha256,
    });
    expect(await json('notes/text.md', { encoding: 'text', max_bytes: '5' })).toMatchObject({
      content: 'first',
      size,
      truncated: true,
    });
    expect(await json('bytes', { encoding: 'base64' })).toMatchObject({ content: '/wA=', size: 2 });
    const wrong = { status: 400, code: 'invalid_request' };
    const get = (query: Record<string, string>) => ada().get(url('/content', { path: 'bytes', ...query }));
    expectError(await get({ encoding: 'rot13' }), { ...wrong, param: 'encoding' });
    expectError(await get({ max_bytes: '0' }), { ...wrong, param: 'max_bytes' });
    expectError(await get({ include_sha256: 'maybe' }), { ...wrong, param: 'include_sha256' });
    expectError(await ada().get(url('/content', { path: 'link', encoding: 'text' })), {
      status: 400,
      code: 'invalid_path',
      param: 'path',
    });
  });

  it('are refused as an archive over the requested size', async () => {
    await makeFiles();
    const small = await ada().get(url('/archive', { format: 'tar', max_bytes: '1000000' }));
    expect(small.status).toBe(200);
    for (const limit of [{ max_bytes: '100' }, { max_entries: '1' }]) {
      const refused = await ada().get(url('/archive', { format: 'tar', ...limit }));
      expectError(refused, { status: 413, code: 'artifact_too_large', param: 'path' });
    }
  });
});

describe('too few slots', () => {
  it('a key waits at its quota, others do not, and a release lets it continue', async () => {
    const held = [await acquire(ada()), await acquire(ada()), await acquire(ada())];
    expect((await list(ada())).stats).toMatchObject({ held: 3, available: 0, max_slots: 4 });
    const waiting = acquire(ada());
    await waitFor('the acquire to wait', async () => (await list(ada())).stats.waiting === 1);
    expect((await acquire(bob())).state).toBe('acquired');
    await release(ada(), held[0]!.id);
    expect((await waiting).state).toBe('acquired');
  });

  it('a client that leaves while it waits gets no slot', async () => {
    const held = [await acquire(ada()), await acquire(ada()), await acquire(ada())];
    const leaving = new AbortController();
    const gone = fetch(`${server.url}/v1/slots`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADA}` },
      signal: leaving.signal,
    });
    await waitFor('the acquire to wait', async () => (await list(ada())).stats.waiting === 1);
    leaving.abort();
    await expect(gone).rejects.toThrow();
    await waitFor('nobody to wait', async () => (await list(ada())).stats.waiting === 0);
    await release(ada(), held[0]!.id);
    expect((await list(ada())).stats).toMatchObject({ held: 2, available: 1 });
  });
});

describe('the routes', () => {
  it('need a key', async () => {
    const stranger = new CheckedApi(server.url);
    for (const [method, path] of [
      ['GET', '/v1/slots'],
      ['POST', '/v1/slots'],
      ['POST', '/v1/slots/execute'],
      ['POST', `/v1/slots/${MISSING}/release`],
      ['GET', `/v1/slots/${MISSING}/artifacts`],
    ] as const) {
      expectError(await stranger.request(method, path), { status: 401, code: 'invalid_api_key' });
    }
  });

  it('say which methods they take', async () => {
    const refused = await ada().request('DELETE', '/v1/slots');
    expectError(refused, { status: 405, code: 'method_not_allowed' });
    expect(refused.headers.get('allow')).toMatch(/^(?=.*\bGET\b)(?=.*\bPOST\b)(?!.*DELETE)/);
    expectError(await ada().get('/v1/slots/execute'), { status: 405, code: 'method_not_allowed' });
  });

  it('refuse a malformed trajectory', async () => {
    for (const trajectory_id of ['', 'a\u0000b', 7]) {
      const refused = await ada().post('/v1/slots', { trajectory_id });
      expectError(refused, { status: 400, code: 'invalid_request', param: 'trajectory_id' });
    }
  });

  it('are announced', async () => {
    const { body } = await ada().get('/v1/capabilities');
    expect(body).toMatchObject({
      features: { slots: true },
      endpoints: { slot_execute: { method: 'POST', path: '/v1/slots/execute' } },
    });
  });
});

describe('a server that gives out no slots', () => {
  it('says so on every route of slots', async () => {
    await using plain = await HostedServer.start();
    const api = new CheckedApi(plain.url);
    for (const [method, path] of [
      ['GET', '/v1/slots'],
      ['POST', '/v1/slots'],
      ['POST', '/v1/slots/execute'],
      ['POST', `/v1/slots/${MISSING}/release`],
      ['GET', `/v1/slots/${MISSING}/artifacts`],
    ] as const) {
      expectError(await api.request(method, path), { status: 404, code: 'slots_unavailable' });
    }
    expect((await api.get('/v1/capabilities')).body).toMatchObject({ features: { slots: false } });
  });
});

describe('a short wait and a short idle time', () => {
  let short: ServerProcess;
  const api = () => new CheckedApi(short.url);
  beforeAll(async () => {
    const env = {
      TALARIA_SLOTS: 'true',
      TALARIA_MAX_SLOTS: '1',
      TALARIA_SLOT_WAIT_SECONDS: '0.2',
      TALARIA_SLOT_IDLE_SECONDS: '3',
      TALARIA_DRAIN_SECONDS: '60',
    };
    short = await ServerProcess.start({ env });
  });
  afterAll(() => short?.[Symbol.asyncDispose]());

  /** On a busy machine it can take longer than the short wait to make a slot. */
  const acquireInTime = (trajectory_id?: string) =>
    waitFor('a slot', async () => {
      const { status, body } = await api().post<Slot>('/v1/slots', { trajectory_id });
      return status === 200 && body;
    });

  it('an acquire is refused in time, with Retry-After; an idle slot is released', async () => {
    const { id } = await acquireInTime();
    // A batch that takes longer than the idle time keeps its slot.
    const batch = execute(api(), [bash(id, 'sleep 4; echo done')]);
    const refused = await api().post('/v1/slots');
    expectError(refused, { status: 429, code: 'no_slot_free' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const [busy] = await batch;
    expect(busy).toMatchObject({ success: true, output: 'done\n' });
    await waitFor('the slot to be taken back', async () => (await list(api())).data.length === 0);
    const gone = await api().post('/v1/slots/execute', { requests: [bash(id, 'true')] });
    expectError(gone, { status: 404, code: 'slot_not_found' });
    await acquireInTime();
  });

  it('a restarted server knows no old slot, and keeps the files of trajectories', async () => {
    for (const { id } of (await list(api())).data) await release(api(), id);
    const slot = await acquireInTime('survives');
    await execute(api(), [bash(slot, 'echo kept > file')]);
    await short.kill('SIGKILL');
    await short.start();
    for (const answer of [
      await api().post('/v1/slots/execute', { requests: [bash(slot, 'true')] }),
      await release(api(), slot.id),
    ]) {
      expectError(answer, { status: 404, code: 'slot_not_found', message: /the server was restarted/ });
    }
    expect((await list(api())).stats).toMatchObject({ held: 0, available: 1 });
    const again = await acquireInTime('survives');
    expect((await execute(api(), [bash(again, 'cat file')]))[0]).toMatchObject({ output: 'kept\n' });
    await release(api(), again.id, { reset_workspace: true });
  });

  it('a server that shuts down accepts no new work, and lets a batch end', async () => {
    const slot = await acquireInTime('drained');
    const wait = 'touch begun; until [ -e go ]; do sleep 0.05; done; echo done';
    const batch = execute(api(), [bash(slot, wait)]);
    await waitFor('the command to begin', async () => {
      const { body } = await api().get<{ data: { path: string }[] }>(`/v1/slots/${slot.id}/artifacts`);
      return body.data.some(({ path }) => path === 'begun');
    });
    const ended = short.kill('SIGTERM');
    const refusal = await waitFor('the server to drain', async () => {
      const answer = await api().post('/v1/slots').catch(rethrowUnlessLost);
      return answer?.status === 503 && answer;
    });
    expectError(refusal, { status: 503, code: 'gateway_draining' });
    expect(refusal.headers.get('retry-after')).toBe('1');
    const refused = await api().post('/v1/slots/execute', { requests: [bash(slot, 'touch go')] });
    expectError(refused, { status: 503, code: 'gateway_draining' });
    expect((await list(api())).data, 'reads go on').toMatchObject([{ id: slot.id, state: 'executing' }]);
    const workspaces = join(short.dataDir, 'workspaces');
    const [workspace] = readdirSync(workspaces).filter((name) => name.includes('traj_'));
    writeFileSync(join(workspaces, workspace!, 'go'), '');
    expect(await batch).toMatchObject([{ success: true, output: 'done\n' }]);
    expect(await ended).toEqual({ code: 0, signal: null });
  });
});

function rethrowUnlessLost(error: unknown): undefined {
  if (!isConnectionLoss(error)) throw error;
}
