/** Floor of a reader that stalls: the same bytes out of memory, the next piece when the reader has taken the last. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { listen } from '../processes/listen.ts';

const PIECE_BYTES = 64 * 1024;

const path = process.argv[2];
if (path === undefined) throw new Error('expected the file with the bytes');
const bytes = readFileSync(path);

function* pieces(): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

listen(
  createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    Readable.from(pieces(), { objectMode: false }).pipe(response);
  }),
);
