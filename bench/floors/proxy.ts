/**
 * Floor of everything between the model and a client: one POST is passed to the model, and the model's stream is passed
 * back byte by byte. It shows the cost of a server that stores nothing and parses nothing.
 */
import { Agent, createServer, request as send } from 'node:http';
import { listen } from '../processes/listen.ts';

const modelUrl = process.argv[2];
if (modelUrl === undefined) throw new Error('expected the URL of the model');
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

listen(
  createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { input } = JSON.parse(Buffer.concat(parts).toString()) as { input: string };
      const body = JSON.stringify({
        model: 'bench',
        stream: true,
        messages: [{ role: 'user', content: input }],
      });
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const call = send(`${modelUrl}/chat/completions`, { method: 'POST', agent, headers }, (answer) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        answer.pipe(response);
      });
      call.end(body);
    });
  }),
);
