import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSseParser, type EventName } from '@talaria/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { waitFor } from '../../../../../test/support/wait-for.ts';
import type { EventBatch, Subscriber } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { EventStream, lastSeq } from './event-stream.ts';
import { runEventFormat } from './run-event-format.ts';

const RUN_ID = `run_${'0'.repeat(32)}`;
/** More than the buffers of a local connection hold. */
const LARGE = event(0, 'message.delta', 'x'.repeat(16 * 1024 * 1024));

const server = createServer();
let client: Socket;
let received = '';

beforeEach(async () => {
  received = '';
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  vi.useRealTimers();
  client.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** A response on a real socket, and a client that has asked for it but reads nothing yet. */
async function connection(): Promise<ServerResponse> {
  const request = once(server, 'request');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => {});
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const [, response] = (await request) as [unknown, ServerResponse];
  // Without chunked encoding the client sees the bytes unchanged.
  response.useChunkedEncodingByDefault = false;
  return response;
}

function read(): void {
  client.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
}

function ids(): number[] {
  const found: number[] = [];
  const parser = createSseParser({ onMessage: ({ id }) => found.push(Number(id)) });
  parser.feed(received.slice(received.indexOf('\r\n\r\n') + 4));
  return found;
}

function event(seq: number, name: EventName = 'message.delta', delta = 'x'): StoredEvent {
  return { seq, event: name, at: 0, payload: JSON.stringify({ delta }) };
}

/** A run's log that delivers the events after the cursor, page by page, to a subscriber. */
function log(events: StoredEvent[], pageSize: number) {
  const cursors: number[] = [];
  return {
    cursors,
    subscribe(after: number, subscriber: Subscriber): () => void {
      cursors.push(after);
      let on = true;
      void (async () => {
        for (let from = after + 1; from < events.length && on; from += pageSize) {
          // Like the feed in a burst: page after page without a pause.
          subscriber.deliver(events.slice(from, from + pageSize) as unknown as EventBatch);
        }
      })();
      return () => {
        on = false;
      };
    },
  };
}

test('a burst larger than the bound reaches a healthy reader completely, once and in order', async () => {
  const last = 499;
  const events = Array.from({ length: last + 1 }, (_, seq) =>
    event(seq, seq === last ? 'run.completed' : 'message.delta', 'y'.repeat(10_000)),
  );
  const source = log(events, 50);
  const response = await connection();
  read();
  const stream = new EventStream(response, {
    ...source,
    format: runEventFormat(RUN_ID),
    after: -1,
    cursorAfter: lastSeq,
    bufferBytes: 4096,
  });
  stream.start();
  await once(client, 'close');
  expect(ids()).toEqual(events.map(({ seq }) => seq));
  expect(received.endsWith('}\n\n: stream closed\n')).toBe(true);
  // It fell behind and caught up by itself.
  expect(source.cursors.length).toBeGreaterThan(1);
});

test('the unread data of a reader that reads nothing stays bounded', async () => {
  const response = await connection();
  const stream = new EventStream(response, {
    ...log([], 1),
    format: runEventFormat(RUN_ID),
    after: -1,
    cursorAfter: lastSeq,
    bufferBytes: 4096,
  });
  stream.deliver([LARGE]);
  await waitFor('the connection to be full', () => response.writableLength > 0);
  const unread = response.writableLength;
  for (let seq = 1; seq < 100; seq++) stream.deliver([{ ...LARGE, seq }]);
  expect(response.writableLength).toBeLessThanOrEqual(unread);
});

for (const ended of [false, true]) {
  const when = ended ? 'also after the end of the run' : 'while the run is still running';
  test(`a reader that reads nothing for long is disconnected, ${when}`, async () => {
    const response = await connection();
    const stream = new EventStream(response, {
      ...log([], 1),
      format: runEventFormat(RUN_ID),
      after: -1,
      cursorAfter: lastSeq,
      bufferBytes: 4096,
      stallMs: 200,
    });
    stream.deliver([{ ...LARGE, event: ended ? 'run.completed' : 'message.delta' }]);
    stream.keepAlive(0);
    await waitFor('it to be let go of', () => response.destroyed);
  });
}

test('a slow reader that keeps reading stays, and so does one that waits for events', async () => {
  const stallMs = 500;
  const response = await connection();
  const stream = new EventStream(response, {
    ...log([], 1),
    format: runEventFormat(RUN_ID),
    after: -1,
    cursorAfter: lastSeq,
    bufferBytes: 4096,
    stallMs,
  });
  stream.deliver([LARGE]);
  const since = performance.now();
  while (performance.now() - since < 1.2 * stallMs) {
    client.read(50_000);
    await delay(10);
  }
  expect(response.writableLength).toBeGreaterThan(0);
  client.resume();
  await waitFor('everything to be taken', () => response.writableLength === 0);
  await delay(2 * stallMs);
  expect(response.destroyed).toBe(false);
});

test('only silence causes a keep-alive, and none follows the end', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const response = await connection();
  read();
  const stream = new EventStream(response, {
    ...log([], 1),
    format: runEventFormat(RUN_ID),
    after: -1,
    cursorAfter: lastSeq,
    bufferBytes: 4096,
  });
  const settled = () => new Promise((resolve) => response.write('', resolve));
  await settled();
  vi.advanceTimersByTime(4_000);
  stream.keepAlive(5_000);
  vi.advanceTimersByTime(2_000);
  stream.keepAlive(5_000);
  await settled();
  stream.keepAlive(5_000);
  stream.deliver([event(0, 'run.cancelled')]);
  vi.advanceTimersByTime(60_000);
  stream.keepAlive(5_000);
  await once(client, 'close');
  expect(received.match(/: keepalive/g)).toHaveLength(1);
  expect(received.endsWith('}\n\n: stream closed\n')).toBe(true);
});

test('a keep-alive has a blank line of its own only before the first event', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const response = await connection();
  read();
  const stream = new EventStream(response, {
    ...log([], 1),
    format: runEventFormat(RUN_ID),
    after: -1,
    cursorAfter: lastSeq,
    bufferBytes: 4096,
  });
  const settled = () => new Promise((resolve) => response.write('', resolve));
  await settled();
  vi.advanceTimersByTime(6_000);
  stream.keepAlive(5_000);
  stream.deliver([event(0, 'message.delta')]);
  await settled();
  vi.advanceTimersByTime(6_000);
  stream.keepAlive(5_000);
  stream.deliver([event(1, 'run.cancelled')]);
  await once(client, 'close');
  const outline = received.slice(received.indexOf(': open')).replace(/^data: .*$/gm, 'data');
  expect(outline).toContain(': open\n\n');
  expect(outline.match(/^(: keepalive\n+)?id: \d/gm)).toEqual([': keepalive\n\nid: 0', ': keepalive\nid: 1']);
});
