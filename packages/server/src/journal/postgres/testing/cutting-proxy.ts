/**
 * A proxy between the journal and Postgres: it cuts the connection when a certain statement passes, and connects to
 * another server on request.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Cut {
  /** The connection is cut when this statement is on its way to the server. */
  when: string;
  /** Whether the server still gets it. */
  forward: boolean;
  /** Whether neither side is told. */
  silent?: boolean;
  /** Whether nobody can connect afterwards, until the proxy starts again. */
  last?: boolean;
}

export class CuttingProxy {
  readonly url: string;
  #target: { host: string; port: number };
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #next: Cut[] = [];
  cuts = 0;

  static async to(url: string): Promise<CuttingProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new CuttingProxy(server, new URL(url));
  }

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.#target = addressOf(target);
    this.#port = (server.address() as { port: number }).port;
    const url = new URL(target);
    url.port = String(this.#port);
    this.url = url.href;
    server.on('connection', (client) => this.#serve(client));
  }

  cutNext(...cuts: Cut[]): void {
    this.#next = cuts;
  }

  /** The next connection on which this passes stays open but carries nothing any more, as if its cable was pulled. */
  silenceNext(when: string): void {
    this.#next = [{ when, forward: false, silent: true }];
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Continues, with new connections to that server. */
  async startTo(url: string): Promise<void> {
    this.#target = addressOf(new URL(url));
    await this.start();
  }

  async start(): Promise<void> {
    this.#server = createServer((client) => this.#serve(client));
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.stop();
  }

  #serve(client: Socket): void {
    const server = connect(this.#target);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    let deaf = false;
    let silent = false;
    client.on('data', (bytes) => {
      const [cut] = this.#next;
      if (silent) return;
      if (cut === undefined || deaf || !bytes.includes(cut.when)) {
        server.write(bytes);
        return;
      }
      this.#next.shift();
      this.cuts += 1;
      deaf = true;
      if (cut.last) this.#server.close();
      silent = cut.silent === true;
      if (silent) return;
      // The client hears nothing any more; the server first gets all of it, if it should.
      if (cut.forward) server.write(bytes, () => setImmediate(() => client.destroy()));
      else client.destroy();
    });
    server.on('data', (bytes) => {
      if (!deaf) client.write(bytes);
    });
  }
}

function addressOf({ hostname, port }: URL): { host: string; port: number } {
  return { host: hostname, port: Number(port) };
}
