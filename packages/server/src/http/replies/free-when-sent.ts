/**
 * Frees the memory of a large reply as soon as the system has it. Otherwise it waits for the garbage collector, which is
 * called for every 64 MB, and takes almost as much processor time as reading and sending them.
 *
 * Only for a source whose chunks nobody uses after they are written: they are empty afterwards.
 */
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

/** Call it before the source is piped into the response. */
export function freeWhenSent(response: ServerResponse): void {
  response.once('pipe', (source: Readable) => {
    const unsent: { chunk: Buffer; end: number }[] = [];
    let written = 0;
    source.on('data', (chunk: Buffer) => {
      written += chunk.length;
      unsent.push({ chunk, end: written });
      // What has not left yet is the end of what was written.
      const left = response.writableLength;
      while (unsent[0] !== undefined && written - unsent[0].end >= left) free(unsent.shift()!.chunk);
    });
  });
}

/** A chunk that is a part of a larger buffer stays: the rest of the buffer may still be in use. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
