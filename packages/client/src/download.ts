/**
 * A body that may be larger than memory, as a `Response`. It is read at the reader's pace. After a lost connection the
 * download continues from the first missing byte, where the server supports that.
 */
import { sleep } from './abort.ts';
import type { Connection } from './connection.ts';
import { backoffMs, isTransient } from './retry.ts';

export interface DownloadOptions {
  /** A connection that is silent for this long counts as lost. */
  stallMs: number;
  signal: AbortSignal | undefined;
  /** Opens a connection that continues after this many bytes. */
  resume?: ((offset: number) => Promise<Connection>) | undefined;
}

/** Losses in a row, without a byte between them. */
const LOSSES_MAX = 5;

const BASE_MS = 100;
const MAX_MS = 5_000;

export function toDownload(first: Connection, { stallMs, signal, resume }: DownloadOptions): Response {
  let connection = first;
  let offset = 0;
  let losses = 0;

  const next = async (): Promise<Uint8Array | undefined> => {
    for (;;) {
      try {
        const bytes = await connection.read(stallMs);
        offset += bytes?.length ?? 0;
        losses = 0;
        return bytes;
      } catch (error) {
        connection.close();
        if (resume === undefined || !isTransient(error) || losses === LOSSES_MAX) throw error;
        await sleep(backoffMs(losses++, BASE_MS, MAX_MS), signal);
        connection = await resume(offset);
      }
    }
  };

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await next();
        if (bytes === undefined) controller.close();
        else controller.enqueue(bytes);
      },
      cancel: () => connection.close(),
    },
    // Nothing is read ahead of the reader.
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = first.response;
  // A status such as 204 cannot have a body, not even an empty one.
  return new Response(first.response.body === null ? null : body, { status, statusText, headers });
}
