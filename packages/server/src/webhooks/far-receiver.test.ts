/** A receiver to which a connection takes its time: its process is stopped, and the kernel has no place left for it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { postMessage } from './post-message.ts';

const RECEIVER = `
  const server = require('node:http').createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));
`;
/** More than fit into that backlog. */
const FILLING = 4;
/** What Node, unless told otherwise, gives an address of a name that has several. */
const NODE_GIVES_MS = 250;

let receiver: ChildProcess | undefined;
let filling: Socket[] = [];

afterEach(() => {
  for (const socket of filling) socket.destroy();
  receiver?.kill('SIGKILL');
});

it('a receiver that is far away is waited for, also where another address of its name leads nowhere', async () => {
  receiver = spawn(process.execPath, ['-e', RECEIVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed] = await once(receiver.stdout!, 'data');
  const port = Number(printed);
  receiver.kill('SIGSTOP');
  filling = Array.from({ length: FILLING }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await once(filling[0]!, 'connect');

  const lookup: LookupFunction = (_name, _options, done) =>
    done(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
  const attempt = postMessage({
    url: `http://far.example.com:${port}/`,
    headers: {},
    body: '{}',
    timeoutMs: 10_000,
    blocked: undefined,
    signal: new AbortController().signal,
    lookup,
  });
  // The network is slow, not the receiver: nothing can be watched until it has been slow for long enough.
  await delay(NODE_GIVES_MS + 50);
  receiver.kill('SIGCONT');
  expect(await attempt).toEqual({ kind: 'taken' });
});
