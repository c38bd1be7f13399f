/** A proxy to a daemon that can be cut off: the daemon and its containers live on, but nobody reaches them. */
import { randomUUID } from 'node:crypto';
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDockerHost } from '../docker-host.ts';

export class DaemonInBetween implements AsyncDisposable {
  readonly host: string;
  readonly #path = join(tmpdir(), `talaria-between-${randomUUID()}`);
  readonly #target: NetConnectOpts;
  readonly #connections = new Set<Socket>();
  #server: Server | undefined;

  /** `host` is the daemon's own. */
  constructor(host: string) {
    this.host = `unix://${this.#path}`;
    const { socketPath, host: name, port } = parseDockerHost(host);
    this.#target = socketPath ? { path: socketPath } : { host: name ?? '', port: Number(port) };
  }

  async open(): Promise<void> {
    this.#server = createServer((outer) => {
      const inner = connect(this.#target);
      for (const [from, to] of [
        [outer, inner],
        [inner, outer],
      ] as const) {
        this.#connections.add(from);
        from.on('error', () => {}).once('close', () => this.#connections.delete(from));
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => this.#server?.listen(this.#path, resolve));
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const connection of this.#connections) connection.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cut();
  }
}
