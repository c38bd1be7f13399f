/**
 * A configurable bad network between a client and a server: connections break off, are refused, stall, and bytes of
 * responses are damaged. The faults follow from a seed, and from how the bytes happen to be cut into chunks.
 *
 * Only responses are damaged. A damaged request would get a valid answer to a question that nobody asked. And a damaged
 * byte becomes one that JSON or UTF-8 cannot contain: no reader could notice a letter that becomes another letter.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export interface Faults {
  /** Chances from 0 to 1: per connection, */
  refuse?: number;
  /** and per chunk of an answer. */
  cut?: number;
  damage?: number;
  delay?: number;
}

export class UnreliableProxy implements AsyncDisposable {
  /** How often each thing went wrong. */
  readonly happened = { refuse: 0, cut: 0, damage: 0, delay: 0 };
  faults: Faults;
  readonly #target: () => string;
  readonly #random: () => number;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#serve(socket));

  /** `target` is called for each connection, so that a server may come back at another port. */
  static async start(target: () => string, seed: number, faults: Faults = {}): Promise<UnreliableProxy> {
    const proxy = new UnreliableProxy(target, seed, faults);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(target: () => string, seed: number, faults: Faults) {
    this.#target = target;
    this.#random = randomOf(seed);
    this.faults = faults;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Breaks every connection off. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    this.#sockets.add(client);
    client.on('error', () => {});
    if (this.#happens('refuse')) return void client.destroy();
    const { hostname, port } = new URL(this.#target());
    const server = connect(Number(port), hostname);
    server.on('error', () => {});
    server.on('close', () => client.destroy());
    client.on('close', () => {
      this.#sockets.delete(client);
      server.destroy();
    });
    client.pipe(server);
    void this.#answer(server, client);
  }

  async #answer(server: Socket, client: Socket): Promise<void> {
    try {
      for await (const chunk of server) {
        const bytes: Buffer = chunk;
        if (this.#happens('delay')) await new Promise((resolve) => setTimeout(resolve, this.#random() * 30));
        if (this.#happens('damage')) {
          bytes[Math.floor(this.#random() * bytes.length)] = this.#random() < 0.5 ? 0 : 0xff;
        }
        const cut = this.#happens('cut');
        const length = cut ? Math.floor(this.#random() * bytes.length) : bytes.length;
        await new Promise((resolve) => client.write(bytes.subarray(0, length), resolve));
        if (cut) client.destroy();
      }
    } catch {
      client.destroy();
    }
  }

  #happens(what: keyof Faults): boolean {
    const does = this.#random() < (this.faults[what] ?? 0);
    if (does) this.happened[what]++;
    return does;
  }
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
