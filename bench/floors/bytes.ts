/** Floor of replay: the same bytes, out of memory, in one write. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { listen } from '../processes/listen.ts';

const path = process.argv[2];
if (path === undefined) throw new Error('expected the file with the bytes');
const bytes = readFileSync(path);

listen(
  createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // Chunked like the server's streams, which do not know their length either.
    response.write(bytes);
    response.end();
  }),
);
