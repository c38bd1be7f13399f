/** Floor of uploads and downloads: pipes a body to a file while it computes its SHA-256, and a file to a body. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listen } from '../processes/listen.ts';

const file = join(process.argv[2]!, 'file');

listen(
  createServer(async (request, response) => {
    if (request.method === 'GET') return pipeline(createReadStream(file), response);
    const hash = createHash('sha256');
    await pipeline(
      request,
      async function* (parts) {
        for await (const part of parts) {
          hash.update(part);
          yield part;
        }
      },
      createWriteStream(file),
    );
    response.end(hash.digest('hex'));
  }),
);
