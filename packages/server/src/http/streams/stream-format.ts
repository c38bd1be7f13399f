/** How the events of a run are written to a reader: the same log, in the words of each route. */
import type { TalariaError } from '@talaria/protocol';
import type { EventBatch } from '../../journal/feeds.ts';

/** One per stream, since it may have to remember what it has said. */
export interface StreamFormat {
  /** The first bytes, before any event. */
  readonly open: Buffer;
  /** Is given every event once, in order. `ended`: nothing may follow. */
  encode(batch: EventBatch): { bytes: Buffer; ended: boolean };
  /** The last bytes after the end. */
  readonly closed: Buffer;
  /** Breaks a silence after events were written; the usual comment without it. */
  readonly keepalive?: Buffer;
  /** The last words to a reader that is cut off while the run goes on; without any the connection just breaks. */
  interrupted?(reason: TalariaError): Buffer;
}
