/** The events of a run as `/v1/runs/{id}/events` shows them (PROTOCOL.md). */
import {
  encodeEventJson,
  encodeSseFrame,
  isTerminalEvent,
  SSE_CLOSED,
  SSE_KEEPALIVE_NUMBERED,
  SSE_OPEN,
} from '@talaria/protocol';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StreamFormat } from './stream-format.ts';

const OPEN = Buffer.from(SSE_OPEN);
const CLOSED = Buffer.from(SSE_CLOSED);
const KEEPALIVE = Buffer.from(SSE_KEEPALIVE_NUMBERED);

export function runEventFormat(runId: string): StreamFormat {
  return {
    open: OPEN,
    closed: CLOSED,
    keepalive: KEEPALIVE,
    encode: (batch) => ({
      bytes: encodeBatch(runId, batch),
      ended: isTerminalEvent(batch.at(-1)!.event),
    }),
  };
}

/** Every subscriber of a run gets the same batch; it is encoded once. */
const encoded = new WeakMap<EventBatch, Buffer>();

function encodeBatch(runId: string, batch: EventBatch): Buffer {
  let bytes = encoded.get(batch);
  if (bytes === undefined) {
    let text = '';
    for (const event of batch) text += encodeSseFrame(event.seq, encodeEventJson(runId, event));
    bytes = Buffer.from(text);
    encoded.set(batch, bytes);
  }
  return bytes;
}
