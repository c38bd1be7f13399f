/** Floor of creates: reads the body, parses it and answers 202. It stores nothing. */
import { createServer } from 'node:http';
import { listen } from '../processes/listen.ts';

listen(
  createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { input } = JSON.parse(Buffer.concat(parts).toString()) as { input: string };
      const answer = JSON.stringify({ run_id: `run_${input.length}`, status: 'started' });
      response.writeHead(202, { 'content-type': 'application/json', 'content-length': answer.length });
      response.end(answer);
    });
  }),
);
