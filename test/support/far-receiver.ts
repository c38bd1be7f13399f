/**
 * A server that is slow to connect to: its process is stopped, and the kernel has no room for another connection until
 * it continues.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const SERVER = `
  const server = require('node:http').createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));
`;
/** More than fit into that backlog. */
const FILLING = 4;
/** More than Node's default for each address of a name with several. */
const FAR_MS = 300;

export class FarReceiver implements Disposable {
  readonly #process: ChildProcess;
  readonly #filling: Socket[];
  readonly url: string;

  static async start(): Promise<FarReceiver> {
    const child = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed] = await once(child.stdout, 'data');
    child.kill('SIGSTOP');
    const port = Number(printed);
    const filling = Array.from({ length: FILLING }, () => connect(port, '127.0.0.1').on('error', () => {}));
    await once(filling[0]!, 'connect');
    return new FarReceiver(child, filling, `http://far.example.com:${port}/`);
  }

  private constructor(child: ChildProcess, filling: Socket[], url: string) {
    this.#process = child;
    this.#filling = filling;
    this.url = url;
  }

  /** Its own address, and one that leads nowhere. */
  readonly lookup: LookupFunction = (_name, _options, done) =>
    done(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);

  /** Makes it reachable. Only elapsed time shows that a network is slow. */
  async arrive(): Promise<void> {
    await delay(FAR_MS);
    this.#process.kill('SIGCONT');
  }

  [Symbol.dispose](): void {
    for (const socket of this.#filling) socket.destroy();
    this.#process.kill('SIGKILL');
  }
}
