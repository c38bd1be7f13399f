/** The client against a peer on a plain socket, which does what a server should, and what it should not. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { clientFrames, type ServerFrame, serverFrame } from './testing/server-frames.ts';
import { openWebSocket, type WebSocketOptions, WebSocketRefused } from './web-socket.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

interface Peer extends AsyncDisposable {
  port: number;
  /** The head of the request, when it has come. */
  readonly request: string;
  /** The bytes that the client sent after it. */
  readonly received: Buffer;
  readonly socket: Socket;
  send(...frames: ServerFrame[]): void;
}

/** `answer` is what the peer says to the request: the head of its answer, and what follows in the same packet. */
async function listen(answer: (key: string) => string | Buffer): Promise<Peer> {
  let socket: Socket | undefined;
  let received = Buffer.alloc(0);
  let request = '';
  const server = createServer((connection) => {
    socket = connection.on('error', () => {});
    connection.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const end = request === '' ? received.indexOf('\r\n\r\n') : -1;
      if (end === -1) return;
      request = received.toString('latin1', 0, end);
      received = received.subarray(end + 4);
      connection.write(answer(/sec-websocket-key: (\S+)/i.exec(request)?.[1] ?? ''));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    get request() {
      return request;
    },
    get received() {
      return received;
    },
    get socket() {
      return socket as Socket;
    },
    send: (...frames) => void (socket as Socket).write(Buffer.concat(frames.map(serverFrame))),
    async [Symbol.asyncDispose]() {
      socket?.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function accept(key: string): string {
  const token = createHash('sha1')
    .update(key + GUID)
    .digest('base64');
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${token}\r\n\r\n`;
}

function open({ port }: Peer, more: Partial<WebSocketOptions> = {}): Promise<Duplex> {
  const headers = { 'x-nomad-token': 'key' };
  const options = { host: '127.0.0.1', port, path: '/exec?a=b', headers, secure: false } as const;
  return openWebSocket({ ...options, sends: 'text', ...more });
}

const texts = async (stream: Duplex) => (await stream.toArray()).map(String);

test('the client asks for a WebSocket with the given headers, and messages go both ways', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  expect(peer.request).toMatch(/^GET \/exec\?a=b HTTP\/1\.1\r\n/);
  expect(peer.request.toLowerCase()).toContain('\r\nx-nomad-token: key');
  expect(peer.request.toLowerCase()).toContain('\r\nsec-websocket-version: 13');
  stream.write(Buffer.from('one'));
  stream.end(Buffer.from('two'));
  await expect
    .poll(() => clientFrames(peer.received))
    .toMatchObject([
      { type: 'text', masked: true, payload: Buffer.from('one') },
      { type: 'text', payload: Buffer.from('two') },
      { type: 'close' },
    ]);
  peer.send({ type: 'text', payload: 'a' }, { type: 'binary', payload: 'b', final: false });
  peer.send({ type: 'continuation', payload: 'c' }, { type: 'close' });
  expect(await texts(stream)).toEqual(['a', 'bc']);
});

test('frames that come with the answer, and a frame cut anywhere, are read', async () => {
  const first = serverFrame({ type: 'text', payload: 'at once' });
  await using peer = await listen((key) => Buffer.concat([Buffer.from(accept(key)), first.subarray(0, 3)]));
  const stream = await open(peer);
  for (const byte of Buffer.concat([first.subarray(3), serverFrame({ type: 'close' })])) {
    await new Promise<void>((resolve) => peer.socket.write(Buffer.from([byte]), () => resolve()));
    await new Promise(setImmediate);
  }
  expect(await texts(stream)).toEqual(['at once']);
});

test('a ping is answered with its own bytes, and does not count as a message', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  peer.send({ type: 'ping', payload: 'here?' }, { type: 'pong' }, { type: 'text', payload: 'said' });
  await expect
    .poll(() => clientFrames(peer.received))
    .toMatchObject([{ type: 'pong', masked: true, payload: Buffer.from('here?') }]);
  peer.send({ type: 'close' });
  expect(await texts(stream)).toEqual(['said']);
});

test('a close is answered, and what came before it can be read later', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  peer.send({ type: 'text', payload: 'last words' }, { type: 'close', payload: Buffer.from([3, 232]) });
  await expect.poll(() => clientFrames(peer.received)).toMatchObject([{ type: 'close' }]);
  const closed = once(peer.socket, 'close');
  peer.socket.end();
  await closed;
  expect(await texts(stream)).toEqual(['last words']);
});

test('a close with a reason is an error with that reason and its code', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  const failed = texts(stream);
  peer.send({
    type: 'close',
    payload: Buffer.concat([Buffer.from([0x0f, 0xa3]), Buffer.from('no such task')]),
  });
  await expect(failed).rejects.toThrow('it was refused: no such task (4003)');
});

test('a connection that breaks off, also within a frame, is an error', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  const failed = texts(stream);
  peer.socket.end(serverFrame({ type: 'text', payload: 'half of this' }).subarray(0, 5));
  await expect(failed).rejects.toThrow('closed without a close message');
});

test('a connection that is reset fails what reads it and what writes to it', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  const failed = texts(stream);
  peer.socket.resetAndDestroy();
  await expect(failed).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(await new Promise((resolve) => stream.write(Buffer.from('late'), resolve))).toBeInstanceOf(Error);
});

test('the client waits for a silent peer until the caller aborts', async () => {
  await using peer = await listen(() => '');
  const enough = new AbortController();
  const opening = expect(open(peer, { signal: enough.signal })).rejects.toMatchObject({ name: 'AbortError' });
  await expect.poll(() => peer.request).not.toBe('');
  const closed = once(peer.socket, 'close');
  enough.abort();
  await opening;
  await closed;
});

test('the client closes a connection that its peer keeps open after the close', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  peer.send({ type: 'close' });
  expect(await texts(stream)).toEqual([]);
  const closed = once(peer.socket, 'close');
  stream.end();
  await closed;
});

test('a peer that speaks another protocol than those offered is refused', async () => {
  const head = (key: string, protocol: string) =>
    accept(key).replace(/\r\n\r\n$/, `\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`);
  await using peer = await listen((key) => head(key, 'v5'));
  expect(await open(peer, { protocols: ['v5', 'v4'] })).toMatchObject({ protocol: 'v5' });
  expect(peer.request.toLowerCase()).toContain('\r\nsec-websocket-protocol: v5, v4');
  await using other = await listen((key) => head(key, 'v5'));
  await expect(open(other, { protocols: ['v4'] })).rejects.toThrow('speaks v5, and not v4');
  await using silent = await listen(accept);
  await expect(open(silent, { protocols: ['v4'] })).rejects.toThrow('speaks nothing, and not v4');
});

test('a message over the limit, and bytes that are not frames, end the connection with an error', async () => {
  const long = Buffer.from([0x81, 127, 0, 0, 0, 0, 255, 255, 255, 255]);
  for (const [bytes, message] of [
    [long, 'is over 4194304 bytes'],
    [Buffer.from('<html>'), 'expected a frame of a server'],
  ] as const) {
    await using peer = await listen(accept);
    const failed = texts(await open(peer));
    peer.socket.write(bytes);
    const closed = once(peer.socket, 'close');
    await expect(failed).rejects.toThrow(message);
    await closed;
  }
});

test('a peer whose messages nobody reads is made to wait', async () => {
  await using peer = await listen(accept);
  const stream = await open(peer);
  const frame = serverFrame({ type: 'binary', payload: Buffer.alloc(256 * 1024) });
  for (let count = 0; count < 100; count++) peer.socket.write(frame);
  await expect.poll(() => stream.readableLength).toBe(16);
  for (let round = 1; round <= 10; round++) {
    stream.write(Buffer.from('still here'));
    await expect.poll(() => clientFrames(peer.received).length).toBe(round);
  }
  expect(stream.readableLength).toBe(16);
  expect(peer.socket.writableLength).toBeGreaterThan(0);
  peer.send({ type: 'close' });
  expect(await texts(stream)).toHaveLength(100);
});

test('an answer other than a WebSocket is a refusal with its status and its text', async () => {
  await using peer = await listen(
    () => 'HTTP/1.1 403 Forbidden\r\nContent-Length: 17\r\nConnection: close\r\n\r\nPermission denied',
  );
  const refused = await open(peer).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(WebSocketRefused);
  expect(refused).toMatchObject({ status: 403, message: 'Permission denied' });
});

test('a peer that answers with a wrong key is refused', async () => {
  await using peer = await listen(() => accept('another key'));
  await expect(open(peer)).rejects.toThrow('expected a WebSocket server');
});
