/** Readers that request a stream, see its beginning, and then stop reading. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';

const LOOK_MS = 200;
const LIMIT_MS = 20_000;

export class StalledReaders implements Disposable {
  readonly #sockets: Socket[];

  private constructor(sockets: Socket[]) {
    this.#sockets = sockets;
  }

  /** Resolves when no data moves any more. */
  static async connect(port: number, path: string, count: number): Promise<StalledReaders> {
    const sockets = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1' }));
    const readers = new StalledReaders(sockets);
    await Promise.all(
      sockets.map(async (socket) => {
        socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`);
        await once(socket, 'readable');
      }),
    );
    await waitFor('all readers to stall', () => isStill(port), LIMIT_MS);
    return readers;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

async function isStill(port: number): Promise<boolean> {
  const before = unsentBytes(port);
  await delay(LOOK_MS);
  return unsentBytes(port) === before;
}

/** How much data sent from this port of 127.0.0.1 the kernel holds. */
function unsentBytes(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let bytes = 0;
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, address, , , queues] = line.trim().split(/\s+/);
    if (address === local) bytes += Number.parseInt(queues!.split(':')[0]!, 16);
  }
  return bytes;
}
