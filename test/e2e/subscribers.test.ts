/** Every subscriber sees everything, early, late or after the end; one that stalls costs nobody anything. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api, Frame } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ofKind, ServerWithModel, shownText, wholeStream } from './server-with-model.ts';

let world: ServerWithModel;
let api: Api;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_SUBSCRIBER_BUFFER_BYTES: '65536' });
  api = world.api;
});
afterAll(() => world[Symbol.asyncDispose]());

interface Detailed {
  platforms: { api_server: { subscribers: number } };
}

async function detailed(): Promise<Detailed> {
  return (await api.get<Detailed>('/health/detailed')).body;
}

test('fifty subscribers, early, in the middle and after the end, each get everything once', async () => {
  const pieces = Array.from({ length: 150 }, (_, n) => `piece ${n} of the answer. `);
  const runId = await api.create(
    script([
      {
        chunks: [
          ...pieces.slice(0, 50),
          { gate: 'middle' },
          ...pieces.slice(50, 100),
          { gate: 'late' },
          ...pieces.slice(100),
        ],
        delayMs: 1,
      },
    ]),
  );
  const early = Array.from({ length: 20 }, () => api.stream(runId));
  await world.model.waitingAt('middle');
  const middle = Array.from({ length: 20 }, () => api.stream(runId));
  world.model.open('middle');
  await world.model.waitingAt('late');
  const [seen] = (await api.stream(runId, { until: () => true })).frames;
  const resumed = Array.from({ length: 5 }, () => api.stream(runId, { after: Number(seen!.id) }));
  world.model.open('late');
  await api.finish(runId);
  const late = Array.from({ length: 10 }, () => api.stream(runId));

  const whole = await wholeStream(api, runId);
  expect(shownText(whole)).toBe(pieces.join(''));
  for (const { frames, clean, comments } of await Promise.all([...early, ...middle, ...late])) {
    expect(clean).toBe(true);
    expect(comments.at(-1)).toBe('stream closed');
    expect(frames).toEqual(whole);
  }
  for (const { frames } of await Promise.all(resumed)) expect(frames).toEqual(whole.slice(1));
});

test('disconnecting is not stopping: a run that nobody watches any more continues', async () => {
  const runId = await api.create(script([{ chunks: ['first ', { gate: 'alone' }, 'second'] }]));
  const { frames } = await api.stream(runId, { until: ({ event }) => event.event === 'message.delta' });
  await waitFor(
    'the server to notice that nobody watches',
    async () => (await detailed()).platforms.api_server.subscribers === 0,
  );
  expect((await api.run(runId)).status).toBe('running');
  world.model.open('alone');
  expect((await endsAs(api, runId, 'run.completed')).output).toBe('first second');
  const rest = await api.stream(runId, { after: Number(frames.at(-1)!.id) });
  expect(shownText([...frames, ...rest.frames])).toBe('first second');
});

test('two thousand events are replayed complete and in order', () => replays(1000));
test('ten thousand, too', { tags: ['soak'], timeout: 600_000 }, () => replays(5000));

async function replays(calls: number): Promise<void> {
  // Calls of a tool that does not exist are answered at once: two events each.
  const tools = Array.from({ length: calls }, () => ({ name: 'nothing', arguments: {} }));
  const runId = await api.create(script([{ tools }, { text: 'done' }]));
  await api.finish(runId);
  const whole = await wholeStream(api, runId);
  expect(whole.length).toBeGreaterThan(2 * calls);
  const started = ofKind(whole, 'tool.started').map(({ tool_call_id }) => tool_call_id);
  const completed = ofKind(whole, 'tool.completed').map(({ tool_call_id }) => tool_call_id);
  expect(new Set(started).size).toBe(calls);
  expect(completed.sort()).toEqual(started.sort());
  const tail = await api.stream(runId, { after: 2 * calls - 10 });
  expect(tail.frames).toEqual(whole.slice(2 * calls - 9));
}

test('streams requested on one connection come one after the other, and cost nothing while they wait', async () => {
  const runId = await api.create(script([{ chunks: ['open', { gate: 'pipelined' }, 'closed'] }]));
  await world.model.waitingAt('pipelined');
  const { hostname, port } = new URL(api.baseUrl);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  let text = '';
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  socket.write(`GET /v1/runs/${runId}/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`.repeat(100));
  await waitFor('the first to be answered', async () => text.includes('"delta":"open"'));
  expect((await detailed()).platforms.api_server.subscribers).toBe(1);

  world.model.open('pipelined');
  await waitFor('all to be answered', async () => text.split(': stream closed').length === 101);
  expect(text.split('"output":"openclosed"')).toHaveLength(101);
  socket.destroy();
});

/** A subscriber that requests the stream and then reads nothing until told to. */
class StalledReader {
  readonly #socket: Socket;
  #text = '';

  static async open(runId: string): Promise<StalledReader> {
    const { hostname, port } = new URL(api.baseUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`GET /v1/runs/${runId}/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
    // The head is read, so that the subscription is known to exist; after that nothing is.
    await once(socket, 'readable');
    return new StalledReader(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
  }

  /** Reads what is left, to the end of the connection; the frames that arrived whole. */
  async readToEnd(): Promise<Frame[]> {
    const closed = once(this.#socket, 'close');
    this.#socket.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
    });
    await closed;
    const frames: Frame[] = [];
    // Chunk headers of the transfer encoding are between frames, never inside a line of one.
    for (const [, id, data] of this.#text.matchAll(/^id: (\d+)\ndata: (.*)\n\n/gm)) {
      frames.push({ id: id!, data: data!, event: JSON.parse(data!) });
    }
    return frames;
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** Of some 100 kB each. */
function longPieces(count: number): { repeat: string; times: number }[] {
  return Array.from({ length: count }, (_, n) => ({ repeat: `${n} and more `, times: 8000 }));
}

function textOf(pieces: ReturnType<typeof longPieces>): string {
  return pieces.map(({ repeat, times }) => repeat.repeat(times)).join('');
}

describe('a reader that stalls', () => {
  /** Five megabytes: more than the system takes for a connection. */
  const PIECES = longPieces(50);

  test('from the beginning delays nobody who reads, nor do two that come late', () => delayNobody(1, 2));
  test('delays nobody, nor do 39 others', { tags: ['soak'], timeout: 300_000 }, () => delayNobody(20, 20));

  async function delayNobody(early: number, late: number): Promise<void> {
    const gate = `stalled-${early}`;
    const runId = await api.create(script([{ chunks: [{ gate }, ...PIECES], delayMs: 2 }]));
    await world.model.waitingAt(gate);
    const stall = (count: number) =>
      Promise.all(Array.from({ length: count }, () => StalledReader.open(runId)));
    const stalled = await stall(early);
    const reading = api.stream(runId);
    world.model.open(gate);
    const { frames, clean } = await reading;
    expect(clean).toBe(true);
    expect(shownText(frames)).toBe(textOf(PIECES));
    stalled.push(...(await stall(late)));
    // A slow machine may have disconnected the first ones by now, which is right, too.
    expect((await api.stream(runId)).frames).toEqual(frames);
    for (const reader of stalled) reader.destroy();
  }

  // event-stream.test.ts shows with a shorter limit that it is disconnected, and that its unread data stays bounded.
  test('is disconnected, comes back by cursor and has lost nothing; another reader notices nothing', {
    tags: ['soak'],
  }, async () => {
    const subscribers = async () => (await detailed()).platforms.api_server.subscribers;
    const runId = await api.create(
      script([{ chunks: [{ gate: 'stalled' }, ...PIECES, { gate: 'disconnected' }, 'end'], delayMs: 2 }]),
    );
    await world.model.waitingAt('stalled');
    const stalled = await StalledReader.open(runId);
    const other = api.stream(runId);
    await waitFor('all to be subscribed', async () => (await subscribers()) === 2);
    world.model.open('stalled');
    await waitFor(
      'the stalled one to be disconnected, and it alone',
      async () => (await subscribers()) === 1,
    );
    world.model.open('disconnected');
    const whole = await wholeStream(api, runId);
    expect(shownText(whole)).toBe(`${textOf(PIECES)}end`);
    expect(await other).toMatchObject({ clean: true, frames: whole });

    const had = await stalled.readToEnd();
    expect(had.length).toBeLessThan(whole.length);
    expect(had).toEqual(whole.slice(0, had.length));
    const { frames: rest } = await api.stream(
      runId,
      had.length === 0 ? {} : { after: Number(had.at(-1)!.id) },
    );
    expect([...had, ...rest]).toEqual(whole);
  });
});
