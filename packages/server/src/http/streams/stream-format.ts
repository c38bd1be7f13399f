/** How what happens is written to a reader: the same log, in the format of each route. */
import type { TalariaError } from '@talaria/protocol';
import type { EventBatch } from '../../journal/feeds.ts';

/** One per stream, because it may have to remember what it has sent. */
export interface StreamFormat<Batch = EventBatch> {
  /** The first bytes, before any event. */
  readonly open: Buffer;
  /** Gets every event once, in order. `ended`: nothing may follow. */
  encode(batch: Batch): { bytes: Buffer; ended: boolean };
  /** The last bytes after the end. */
  readonly closed: Buffer;
  /** Ends a silence after events were written; undefined means the usual comment. */
  readonly keepalive?: Buffer;
  /**
   * The last bytes for a reader that is disconnected while the run continues; without any the connection just breaks.
   */
  interrupted?(reason: TalariaError): Buffer;
}
