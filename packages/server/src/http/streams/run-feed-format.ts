/** The changes of runs as `/v1/feed` shows them (PROTOCOL.md). */
import {
  encodeSseFrame,
  type RunChanged,
  SSE_CLOSED,
  SSE_KEEPALIVE_NUMBERED,
  SSE_OPEN,
} from '@talaria/protocol';
import type { RunFeed } from '../../engine/run-feed.ts';
import type { ChangeBatch } from '../../journal/change-feed.ts';
import type { ChangePlace } from '../../journal/changes.ts';
import type { StreamFormat } from './stream-format.ts';

const CLOSED = Buffer.from(SSE_CLOSED);
const KEEPALIVE = Buffer.from(SSE_KEEPALIVE_NUMBERED);

/** `begin` is where the reader continues if it is disconnected before the first change. */
export function runFeedFormat(feed: RunFeed, owner: string, begin: ChangePlace): StreamFormat<ChangeBatch> {
  return {
    open: Buffer.from(`${SSE_OPEN}: cursor ${feed.cursorOf(owner, begin)}\n\n`),
    closed: CLOSED,
    keepalive: KEEPALIVE,
    encode: (batch) => ({ bytes: encodeBatch(feed, owner, batch), ended: false }),
    // A feed has no end of its own: a reader that is disconnected always comes back.
    interrupted: () => CLOSED,
  };
}

/** Every reader of the same runs gets the same batch; it is encoded once. */
const encoded = new WeakMap<ChangeBatch, Buffer>();

function encodeBatch(feed: RunFeed, owner: string, batch: ChangeBatch): Buffer {
  let bytes = encoded.get(batch);
  if (bytes === undefined) {
    let text = '';
    for (const { cursor, run } of feed.items(owner, batch)) {
      text += encodeSseFrame(cursor, JSON.stringify({ event: 'run.changed', run } satisfies RunChanged));
    }
    bytes = Buffer.from(text);
    encoded.set(batch, bytes);
  }
  return bytes;
}
