/** How a process of the bench starts: it listens on loopback, tells its parent the port, and ends with its parent. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));
}

export function announce(port: number): void {
  process.on('disconnect', () => process.exit());
  process.send?.({ port });
}
