/**
 * Floors of fan-out: frames written to open responses of node:http, with nothing behind them.
 *
 * `/bare` gets every frame in a separate write, when it is produced. `/coalesced` does what the server does at best: it
 * sends the first frames at once, then whatever collects in a window of 5 ms that opens after the flush.
 */
import { createServer, type ServerResponse } from 'node:http';
import { encodeEventJson, encodeSseFrame } from '@talaria/protocol';
import { type Produce, produce } from '../processes/event-source.ts';
import { listen } from '../processes/listen.ts';

const WINDOW_MS = 5;
const RUN_ID = `run_${'0'.repeat(32)}`;

type Kind = 'bare' | 'coalesced';
const crowds: Record<Kind, Set<ServerResponse>> = { bare: new Set(), coalesced: new Set() };
let seq = 0;

const writers: Record<Kind, (frames: Buffer[]) => void> = {
  bare: createBareWriter(crowds.bare),
  coalesced: createCoalescingWriter(crowds.coalesced),
};

listen(
  createServer((request, response) => {
    const crowd = crowds[request.url === '/bare' ? 'bare' : 'coalesced'];
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.socket?.setNoDelay(true);
    response.write(': open\n\n');
    crowd.add(response);
    response.on('error', () => {});
    response.on('close', () => crowd.delete(response));
  }),
);

process.on('message', ({ kind, ...wanted }: Produce & { kind: Kind }) => {
  produce(wanted, (texts) => writers[kind](texts.map(encode)));
});

function encode(delta: string): Buffer {
  const event = { seq: seq++, event: 'message.delta', at: Date.now(), payload: JSON.stringify({ delta }) };
  return Buffer.from(encodeSseFrame(event.seq, encodeEventJson(RUN_ID, event)));
}

/** One frame per turn of the event loop: node:http joins writes within one turn. */
function createBareWriter(crowd: Set<ServerResponse>): (frames: Buffer[]) => void {
  const waiting: Buffer[] = [];
  const writeNext = (): void => {
    const frame = waiting.shift();
    if (frame === undefined) return;
    for (const response of crowd) response.write(frame);
    if (waiting.length > 0) setImmediate(writeNext);
  };
  return (frames) => {
    const idle = waiting.length === 0;
    waiting.push(...frames);
    if (idle) setImmediate(writeNext);
  };
}

function createCoalescingWriter(crowd: Set<ServerResponse>): (frames: Buffer[]) => void {
  let waiting: Buffer[] = [];
  let windowOpen = false;
  const flush = (): void => {
    const bytes = Buffer.concat(waiting);
    waiting = [];
    for (const response of crowd) response.write(bytes);
    windowOpen = true;
    setImmediate(() =>
      setTimeout(() => {
        windowOpen = false;
        if (waiting.length > 0) flush();
      }, WINDOW_MS),
    );
  };
  return (frames) => {
    waiting.push(...frames);
    if (!windowOpen) flush();
  };
}
