/** Floor of an idle subscriber: an open response of node:http that nothing is written to after its first line. */
import { createServer } from 'node:http';
import { listen } from '../processes/listen.ts';

listen(
  createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(': open\n\n');
  }),
);
