import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LocalBackend } from '../../local/local-backend.ts';
import { MAX_FRAME_BYTES, type ToolResult } from './protocol.ts';
import { RemoteWorkspace } from './remote-workspace.ts';
import { SandboxClient, ServerLost } from './sandbox-client.ts';
import { SandboxServer } from './sandbox-server.ts';

const never = new AbortController().signal;

describe('a client and its server', () => {
  let dir: string;
  let path: string;
  let backend: LocalBackend;
  let server: Server;
  let client: SandboxClient;
  let ended: Promise<void>;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'talaria-server-test-'));
    path = join(dir, 'socket');
    backend = new LocalBackend({ workspacesDir: join(dir, 'workspaces') });
    await backend.start();
    const end = Promise.withResolvers<void>();
    ended = end.promise;
    server = await new SandboxServer(backend, end.resolve).listen(path);
    client = await SandboxClient.attach(() => connect(path), never);
  });

  afterEach(async () => {
    client.detach();
    await ended;
    await new Promise((resolve) => server.close(resolve));
    await backend.stop();
    await rm(dir, { recursive: true });
  });

  const call = (slotId: string, command: string, signal = never) => ({
    slotId,
    tool: 'bash',
    args: { command },
    signal,
    longestS: 60,
  });

  async function execute(...calls: ReturnType<typeof call>[]): Promise<ToolResult[]> {
    const results: ToolResult[] = [];
    await client.execute(calls, undefined, (result) => results.push(result));
    return results;
  }

  test('the owner learns what isolates commands, and is answered', async () => {
    const { isolation, limits } = backend.stats();
    expect(client.attached).toEqual({ isolation, limits });
    await client.ping(never);
  });

  test('the server ends with the connection of its owner', async () => {
    client.detach();
    await ended;
    await expect(client.ping(never)).rejects.toThrow('given up');
    await expect(client.open('late')).rejects.toThrow('given up');
  });

  test('a slot is opened, used and closed', async () => {
    const { slotId, workspaceDir } = await client.open('one');
    expect(await execute(call(slotId, 'pwd'))).toMatchObject([
      { success: true, output: `${workspaceDir}\n`, metadata: { exit_code: 0 } },
    ]);
    await client.close(slotId);
    expect(await execute(call(slotId, 'pwd'))).toMatchObject([{ metadata: { failure: 'gone' } }]);
    await client.close(slotId);
  });

  test('a slot that cannot be opened says why', async () => {
    await backend.stop();
    await expect(client.open('one')).rejects.toThrow('not started');
  });

  test('results come as they are ready, and one call can be ended alone', async () => {
    const { slotId } = await client.open('one');
    const controller = new AbortController();
    const order: number[] = [];
    const calls = [call(slotId, 'sleep 60', controller.signal), call(slotId, 'echo quick')];
    await client.execute(calls, undefined, (result) => {
      order.push(result.index);
      if (result.index === 1) controller.abort();
      else expect(result.metadata.failure).toBe('aborted');
    });
    expect(order).toEqual([1, 0]);
  });

  test('a connection that is closed ends the calls on it', async () => {
    const { slotId } = await client.open('one');
    const connection = connect(path);
    const command = 'while :; do date +%N > beat; sleep 0.01; done';
    connection.write(`{"call":"execute","count":1}\n`);
    connection.write(`${JSON.stringify({ index: 0, slotId, tool: 'bash', args: { command } })}\n`);
    const reader = await backend.workspaces.open('one');
    await expect
      .poll(async () => (await reader?.list('beat').catch(() => undefined))?.entries.length)
      .toBe(1);
    connection.destroy();
    await expect.poll(() => backend.stats().slots.executing).toBe(0);
  });

  test('a call of 8 MB works, and a connection that violates the protocol does not affect others', async () => {
    const { slotId } = await client.open('one');
    for (const nonsense of [
      'nonsense\n',
      '{"call":"dance"}\n',
      '[]\n',
      '{"call":"execute","count":"x"}\n',
      'null\n',
    ]) {
      expect(await answerTo(nonsense)).toBe('');
    }
    expect(await answerTo('x'.repeat(MAX_FRAME_BYTES + 1))).toBe('');
    const content = 'x'.repeat(8_000_000);
    const results: ToolResult[] = [];
    const write = {
      slotId,
      tool: 'write_file',
      args: { path: 'large', content },
      signal: never,
      longestS: 60,
    };
    await client.execute([write], undefined, (result) => results.push(result));
    expect(results).toMatchObject([{ success: true }]);
    const [size] = await execute(call(slotId, 'stat -c %s large'));
    expect(size?.output).toBe(`${content.length}\n`);
  });

  /** The answer of the server to these bytes until it closes the connection. */
  async function answerTo(bytes: string): Promise<string> {
    const connection = connect(path);
    connection.on('error', () => {});
    connection.write(bytes);
    const chunks: Buffer[] = [];
    connection.on('data', (chunk) => chunks.push(chunk));
    await new Promise((resolve) => connection.once('close', resolve));
    return Buffer.concat(chunks).toString();
  }
});

describe('a client and an untrusted server', () => {
  const ATTACHED = '{"isolation":{"kind":"none","description":"x."},"limits":[]}';
  let dir: string;
  const servers: Server[] = [];

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'talaria-server-test-'));
  });

  afterEach(async () => {
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
    await rm(dir, { recursive: true });
  });

  /** A server that answers the first line of a call with these lines. */
  async function serve(
    answers: Record<string, string | ((connection: Socket) => void)>,
  ): Promise<() => Socket> {
    const path = join(dir, randomUUID());
    const server = createServer((connection) => {
      connection.on('error', () => {});
      connection.once('data', (data) => {
        const { call } = JSON.parse(data.toString().split('\n')[0] as string);
        const answer = answers[call];
        if (typeof answer === 'function') answer(connection);
        else connection.write(`${answer}\n`);
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(path, resolve));
    return () => connect(path);
  }

  const calls = [{ slotId: 's', tool: 'bash', args: {}, signal: never, longestS: 60 }];

  test.each([
    ['a line that is not JSON', 'oops'],
    ['a result without its parts', '{"index":0}'],
    ['an unknown failure', result({ failure: 'bored' })],
    ['an invalid time', result({ duration_s: '1' })],
    ['a number', '17'],
  ])('%s instead of a result loses the server', async (_, line) => {
    const client = await SandboxClient.attach(await serve({ attach: ATTACHED, execute: line }), never);
    const results: ToolResult[] = [];
    await client.execute(calls, undefined, (each) => results.push(each));
    expect(results).toEqual([]);
    expect(client.lost.aborted).toBe(true);
  });

  test('unrequested metadata is left out', async () => {
    const answer = (connection: Socket) => connection.end(`${result({ more: 'x', exit_code: 0 })}\n`);
    const client = await SandboxClient.attach(await serve({ attach: ATTACHED, execute: answer }), never);
    const results: ToolResult[] = [];
    await client.execute(calls, undefined, (each) => results.push(each));
    expect(results[0]?.metadata).toEqual({ duration_s: 1, timed_out: false, truncated: false, exit_code: 0 });
    client.detach();
  });

  test('a server that hangs up loses all its calls', async () => {
    const owners: Socket[] = [];
    const answers = {
      attach: (connection: Socket) => {
        owners.push(connection);
        connection.write(`${ATTACHED}\n`);
      },
      execute: () => owners[0]?.destroy(),
      open: () => {},
    };
    const client = await SandboxClient.attach(await serve(answers), never);
    const opening = client.open('x').catch((error: Error) => error.message);
    await client.execute(calls, undefined, () => expect.unreachable());
    expect(await opening).toContain('lost');
    expect(client.lost.aborted).toBe(true);
  });

  test("a server is lost also when another connection than its owner's ends first", async () => {
    const attach = (connection: Socket) => {
      connection.write(`${ATTACHED}\n`);
      connection.on('data', (data) => data.includes('ping') && connection.destroy());
    };
    const open = (connection: Socket) => connection.end();
    const client = await SandboxClient.attach(await serve({ attach, open }), never);
    await expect(client.open('x')).rejects.toBeInstanceOf(ServerLost);
    expect(client.lost.aborted).toBe(true);
  });

  test('a server that ends the connection of one call and answers pings is not lost', async () => {
    const open = (connection: Socket) => connection.end();
    const client = await SandboxClient.attach(await serve({ attach: wellBehaved, open }), never);
    await expect(client.open('x')).rejects.toThrow('ended before the answer came');
    expect(client.lost.aborted).toBe(false);
    client.detach();
  });

  test('a call whose caller closed it ends without waiting for a ping', async () => {
    const client = await SandboxClient.attach(await serve({ attach: ATTACHED, list: () => {} }), never);
    const talk = await client.converse({ call: 'list', trajectoryId: 'x', path: '.' });
    const next = talk.next();
    talk.close();
    await expect(next).rejects.not.toBeInstanceOf(ServerLost);
    expect(client.lost.aborted).toBe(false);
    client.detach();
  });

  test('a server that leaves pings unanswered is lost, and so are the calls that wait for it', async () => {
    const answers = { attach: ATTACHED, execute: () => {} };
    const client = await SandboxClient.attach(await serve(answers), never, {
      pingEveryMs: 20,
      answersWithinMs: 60,
    });
    await client.execute(calls, undefined, () => expect.unreachable());
    expect(client.lost.reason).toMatchObject({ message: expect.stringContaining('does not answer') });
  });

  test('a server with a longer time to answer is lost only after that time', async () => {
    const answers = { attach: ATTACHED, execute: () => {} };
    const patient = { pingEveryMs: 20, answersWithinMs: 500 };
    const client = await SandboxClient.attach(await serve(answers), never, patient);
    const began = performance.now();
    await client.execute(calls, undefined, () => expect.unreachable());
    expect(performance.now() - began).toBeGreaterThan(480);
  });

  /** Accepts its owner, and answers every ping. */
  const wellBehaved = (connection: Socket) => {
    connection.write(`${ATTACHED}\n`);
    connection.on('data', (data) => connection.write(data.toString().replaceAll('ping', 'pong')));
  };

  test.each([
    ['open', (client: SandboxClient) => client.open('x')],
    ['close', (client: SandboxClient) => client.close('x')],
  ])('a server that answers pings but no %s is lost', async (call, ask) => {
    const connect = await serve({ attach: wellBehaved, [call]: () => {} });
    const client = await SandboxClient.attach(connect, never, { pingEveryMs: 5 });
    await expect(ask(client)).rejects.toThrow('does not end a call');
    expect(client.lost.aborted).toBe(true);
  });

  test('a server that answers pings but not an overdue call is lost', async () => {
    const connect = await serve({ attach: wellBehaved, execute: () => {} });
    const client = await SandboxClient.attach(connect, never, { pingEveryMs: 5 });
    const [call] = calls;
    await client.execute([{ ...call!, longestS: 0.1 }], undefined, () => expect.unreachable());
    expect(client.lost.reason).toMatchObject({ message: expect.stringContaining('does not end a call') });
  });

  test('a server that does not end an aborted call is lost, whatever its timeout', async () => {
    const controller = new AbortController();
    const execute = () => controller.abort();
    const connect = await serve({ attach: wellBehaved, execute });
    const client = await SandboxClient.attach(connect, never, { pingEveryMs: 5 });
    const call = { ...calls[0]!, signal: controller.signal, longestS: 1e6 };
    await client.execute([call], undefined, () => expect.unreachable());
    expect(client.lost.reason).toMatchObject({ message: expect.stringContaining('does not end a call') });
  });

  test.each([
    ['twice', `${result({})}\n${result({})}\n`],
    ['that nobody made', `${result({}).replace('"index":0', '"index":7')}\n`],
  ])('a server that answers a call %s is lost', async (_, answer) => {
    const execute = (connection: Socket) => connection.write(answer);
    const client = await SandboxClient.attach(await serve({ attach: ATTACHED, execute }), never);
    const two = [...calls, ...calls];
    const results: ToolResult[] = [];
    await client.execute(two, undefined, (each) => results.push(each));
    expect(results.length).toBeLessThan(2);
    expect(client.lost.aborted).toBe(true);
  });

  test('a server that answers pings that were not sent is lost', async () => {
    const attach = (connection: Socket) => connection.write(`${ATTACHED}\n{"pong":0}\n`);
    const client = await SandboxClient.attach(await serve({ attach }), never);
    await expect.poll(() => client.lost.aborted).toBe(true);
  });

  test('files come with no more than the requested bytes, whatever the server sends', async () => {
    const data = `${JSON.stringify({ data: Buffer.alloc(1_000).toString('base64') })}\n`;
    const archive = (connection: Socket) => connection.write(`{"answer":true}\n${data.repeat(3)}`);
    const file = (connection: Socket) =>
      connection.write(`{"answer":{"path":"x","size":1500,"modifiedAt":0}}\n${data.repeat(2)}`);
    const client = await SandboxClient.attach(await serve({ attach: wellBehaved, archive, file }), never);
    const workspace = new RemoteWorkspace(client, 'x');
    const packed = await workspace.archive('.', { maxBytes: 2_500 });
    await expect(buffer(packed)).rejects.toMatchObject({ code: 'artifact_too_large' });
    await using opened = await workspace.open('x');
    await expect(buffer(opened.stream())).rejects.toThrow('expected 1500 bytes of a file');
    client.detach();
  });

  test('an answer far over the limit of an output loses the server', async () => {
    const output = 'x'.repeat(2_000_000);
    const execute = (connection: Socket) =>
      connection.end(`${result({}).replace('"output":""', `"output":"${output}"`)}\n`);
    for (const [outputLimitBytes, lost] of [
      [output.length, false],
      [50_000, true],
    ] as const) {
      const connect = await serve({ attach: ATTACHED, execute });
      const client = await SandboxClient.attach(connect, never, { outputLimitBytes });
      const results: ToolResult[] = [];
      await client.execute(calls, undefined, (each) => results.push(each));
      expect([results.length, client.lost.aborted]).toEqual([lost ? 0 : 1, lost]);
      client.detach();
    }
  });

  test('a caller can abort the wait for a server that does not accept its owner', async () => {
    const signal = AbortSignal.timeout(50);
    await expect(SandboxClient.attach(await serve({ attach: () => {} }), signal)).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  function result(metadata: object): string {
    const whole = { duration_s: 1, timed_out: false, truncated: false, ...metadata };
    return JSON.stringify({
      index: 0,
      success: true,
      output: '',
      error: '',
      executionId: 'e',
      metadata: whole,
    });
  }
});
