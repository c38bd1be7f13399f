/**
 * Shows that the process which started a container is alive: a socket that it listens on. The kernel keeps the socket
 * for exactly as long as the process lives, even if the process is stopped or busy, and removes it however it dies. A
 * lease with a renewal time would take containers from a server that was only slow; a pid may meanwhile belong to another
 * process.
 */
import { open } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { basename, dirname } from 'node:path';

export interface Lease {
  release(): Promise<void>;
}

export async function holdLease(path: string): Promise<Lease> {
  // A socket's path may have 107 bytes; through its directory it is short.
  const directory = await open(dirname(path));
  const server = createServer((connection) => connection.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(shortPath(directory.fd, path), resolve);
    });
  } catch (error) {
    await directory.close();
    throw error;
  }
  server.unref();
  return {
    async release() {
      await new Promise((resolve) => server.close(resolve));
      await directory.close();
    },
  };
}

/** In doubt it is held: living containers must not be taken. */
export async function isLeaseHeld(path: string): Promise<boolean> {
  const directory = await open(dirname(path)).catch((error: NodeJS.ErrnoException) => error);
  if (directory instanceof Error) return directory.code !== 'ENOENT';
  try {
    return await new Promise<boolean>((resolve) => {
      const connection = connect(shortPath(directory.fd, path));
      connection.once('connect', () => {
        connection.destroy();
        resolve(true);
      });
      connection.once('error', (error: NodeJS.ErrnoException) => {
        resolve(error.code !== 'ENOENT' && error.code !== 'ECONNREFUSED');
      });
    });
  } finally {
    await directory.close();
  }
}

function shortPath(directory: number, path: string): string {
  return `/proc/self/fd/${directory}/${basename(path)}`;
}
