/**
 * The results of a batch as server-sent events, each as soon as it arrives: `slot.result` in the order in which calls
 * end, then one `slot.done`, or `error` if the batch itself failed. A stream without either was cut off.
 *
 * The size of the batch bounds the unread data. A reader that reads nothing for a while is disconnected, which ends the
 * calls that still run.
 */
import type { ServerResponse } from 'node:http';
import { type SlotResult, SSE_KEEPALIVE, SSE_OPEN, type TalariaError, toErrorBody } from '@talaria/protocol';
import type { FastifyReply } from 'fastify';
import { namedFrame } from '../streams/sse-frames.ts';

const KEEPALIVE_MS = 5_000;
const STALL_MS = 30_000;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

export class ResultStream {
  readonly #response: ServerResponse;
  #sent = 0;

  /** Responds with the headers that the reply has so far. */
  constructor(reply: FastifyReply) {
    reply.hijack();
    const response = reply.raw;
    this.#response = response;
    response.on('error', () => {});
    // The reader may have gone meanwhile; its close event does not come again.
    if (response.destroyed) return;
    response.setTimeout(STALL_MS, () => {
      if (response.writableLength > 0) response.destroy();
    });
    const keepalive = setInterval(() => {
      if (response.writableLength === 0) this.#write(SSE_KEEPALIVE);
    }, KEEPALIVE_MS);
    response.on('close', () => clearInterval(keepalive));
    response.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
    response.socket?.setNoDelay(true);
    this.#write(SSE_OPEN);
  }

  send(index: number, result: SlotResult): void {
    this.#sent += 1;
    this.#write(namedFrame('slot.result', { index, result }));
  }

  done(): void {
    this.#response.end(namedFrame('slot.done', { results: this.#sent }));
  }

  fail(error: TalariaError): void {
    this.#response.end(namedFrame('error', toErrorBody(error)));
  }

  #write(text: string): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.write(text);
  }
}
