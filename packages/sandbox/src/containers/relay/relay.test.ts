/** A relay as a driver uses it: a process whose input and output are the only link between two ends. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, duplexPair, type Readable, type Writable } from 'node:stream';
import { expect, test } from 'vitest';
import type { Reached } from '../container-driver.ts';
import { SERVER_PROGRAM } from '../server-program.ts';
import { encodeFrame, MAX_DATA_BYTES } from './channel-frames.ts';
import { Channels, WINDOW_BYTES } from './channels.ts';
import { GREETING, reachByRelay } from './reach-by-relay.ts';

const MEGABYTE = 1024 * 1024;
const never = new AbortController().signal;

interface Relayed extends AsyncDisposable {
  reached: Reached;
  process: ChildProcessByStdio<Writable, Readable, null>;
  /** Connections as they arrive at the far end. */
  accepted: Duplex[];
}

async function relayTo(serve: (connection: Duplex) => void): Promise<Relayed> {
  const dir = await mkdtemp(join(tmpdir(), 'talaria-relay-test-'));
  const accepted: Duplex[] = [];
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rm(dir, { recursive: true }));
  const server = createServer((connection) => {
    connection.write(GREETING);
    new Channels(connection, (channel) => {
      accepted.push(channel.on('error', () => {}));
      serve(channel);
    });
  });
  opened.defer(() => void server.close());
  const process = startRelay(dir);
  opened.defer(async () => {
    if (process.exitCode === null && process.kill('SIGKILL')) await once(process, 'exit');
  });
  const reaching = reachByRelay(Duplex.from({ readable: process.stdout, writable: process.stdin }), never);
  // The relay is there before the socket is, as in a container that has just been started.
  await once(server.listen(join(dir, 'socket')), 'listening');
  const reached = await reaching;
  opened.defer(() => reached.close());
  const resources = opened.move();
  return { reached, process, accepted, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

function startRelay(dir: string) {
  const entry = join(SERVER_PROGRAM.packageDir, SERVER_PROGRAM.entry);
  return spawn(SERVER_PROGRAM.nodePath, [entry, 'relay', 'socket'], {
    cwd: dir,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

const echo = (connection: Duplex) => void connection.pipe(connection);

test('carries many connections, each with its own bytes, and half-closes them', async () => {
  await using relayed = await relayTo(echo);
  const answers = Array.from({ length: 200 }, async (_, index) => {
    const connection = relayed.reached.connect();
    connection.end(`line ${index}\n`.repeat(1_000));
    return Buffer.concat(await connection.toArray()).toString();
  });
  for (const [index, text] of (await Promise.all(answers)).entries())
    expect(text).toBe(`line ${index}\n`.repeat(1_000));
});

test('writes to several connections arrive in their order', async () => {
  const heard: string[] = [];
  await using relayed = await relayTo((connection) => {
    connection.once('data', (bytes) => heard.push(String(bytes)));
  });
  const numbers = Array.from({ length: 500 }, (_, index) => String(index));
  for (const number of numbers)
    relayed.reached
      .connect()
      .on('error', () => {})
      .write(number);
  await expect.poll(() => heard.length).toBe(numbers.length);
  expect(heard).toEqual(numbers);
});

test('a connection that nobody reads from holds up no other, and its sender has to wait', async () => {
  let sent = 0;
  await using relayed = await relayTo((connection) => {
    if (relayed.accepted.length > 1) return echo(connection);
    const chunk = Buffer.alloc(MEGABYTE);
    const send = () => {
      while (connection.write(chunk)) sent += chunk.length;
      sent += chunk.length;
    };
    connection.on('drain', send);
    connection.once('data', send);
  });
  const unread = relayed.reached.connect();
  unread.on('error', () => {}).write('begin');
  await expect.poll(() => sent).toBeGreaterThan(0);
  for (let round = 0; round < 4; round++) {
    const connection = relayed.reached.connect();
    connection.end(Buffer.alloc(MEGABYTE, 'x'));
    expect(Buffer.concat(await connection.toArray())).toHaveLength(MEGABYTE);
  }
  // The windows and the buffers on the way hold less than this. Without them the sender would have sent far more by now.
  expect(sent).toBeLessThan(20 * MEGABYTE);
  unread.destroy();
});

test('a connection that is destroyed at one end is closed at the other', async () => {
  await using relayed = await relayTo(echo);
  const [mine, theirs] = [relayed.reached.connect(), relayed.reached.connect()];
  for (const connection of [mine, theirs]) connection.on('error', () => {}).write('here');
  await expect.poll(() => relayed.accepted.length).toBe(2);
  const [first, second] = relayed.accepted as [Duplex, Duplex];
  mine.destroy();
  await expect.poll(() => first.destroyed).toBe(true);
  second.destroy();
  await expect.poll(() => theirs.destroyed).toBe(true);
});

test('data that was sent before a connection was ended and destroyed is still read', async () => {
  await using relayed = await relayTo((connection) => {
    connection.end(Buffer.alloc(500_000), () => connection.destroy());
  });
  const connection = relayed.reached.connect();
  await expect.poll(() => relayed.accepted[0]?.destroyed).toBe(true);
  expect(Buffer.concat(await connection.toArray())).toHaveLength(500_000);
});

test('a relay that is killed ends every connection, and later ones fail as streams', async () => {
  await using relayed = await relayTo(echo);
  const connection = relayed.reached.connect().on('error', () => {});
  connection.write('here');
  await once(connection, 'data');
  relayed.process.kill('SIGKILL');
  await expect.poll(() => connection.destroyed).toBe(true);
  const [error] = await once(relayed.reached.connect(), 'error');
  expect(error).toBeInstanceOf(Error);
});

test('a relay ends with its input, and with it every connection', async () => {
  await using relayed = await relayTo(echo);
  relayed.reached
    .connect()
    .on('error', () => {})
    .write('here');
  await expect.poll(() => relayed.accepted.length).toBe(1);
  const exited = once(relayed.process, 'exit');
  await relayed.reached.close();
  await exited;
  await expect.poll(() => relayed.accepted[0]?.destroyed).toBe(true);
});

test.each([
  ['other bytes than frames', Buffer.from('hello there, host'), 'expected a frame'],
  ['more than there is room for', overfull(), 'more than it has room for'],
  ['a channel of its own', encodeFrame('open', 7), 'may not open channels'],
])('a far end that sends %s loses every connection', async (_, bytes, reason) => {
  const [near, far] = duplexPair();
  far.write(GREETING);
  const { connect } = await reachByRelay(near, never);
  const connection = connect();
  far.resume().write(bytes);
  const [error] = await once(connection, 'error');
  expect(error.message).toContain(reason);
  expect(near.destroyed).toBe(true);
});

function overfull(): Buffer {
  const full = encodeFrame('data', 1, Buffer.alloc(MAX_DATA_BYTES));
  return Buffer.concat(Array.from({ length: WINDOW_BYTES / MAX_DATA_BYTES + 1 }, () => full));
}

test('a wrong greeting appears in the error', async () => {
  const [near, far] = duplexPair();
  far.end('sh: node: not found');
  await expect(reachByRelay(near, never)).rejects.toThrow('sh: node: not');
});

test('an attempt to reach a server fails when the program ends or the caller aborts', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'talaria-relay-test-'));
  const reach = (signal: AbortSignal) => {
    const process = startRelay(dir);
    const stream = Duplex.from({ readable: process.stdout, writable: process.stdin });
    return { process, reached: reachByRelay(stream, signal) };
  };
  const killed = reach(never);
  killed.process.kill('SIGKILL');
  await expect(killed.reached).rejects.toThrow();
  const aborted = reach(AbortSignal.abort(new Error('enough')));
  await expect(aborted.reached).rejects.toThrow('enough');
  // Without its streams it ends by itself, although there is no socket yet.
  await once(aborted.process, 'exit');
  await rm(dir, { recursive: true });
});
