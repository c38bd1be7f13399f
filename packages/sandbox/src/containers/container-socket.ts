/**
 * The socket of the server inside a container, in a directory that the container may fill with anything.
 *
 * It is opened once, as a mere reference (O_PATH) and without following links, and every connection goes through that
 * reference. So nothing that is put in its place later is ever connected to, and the length of its path does not
 * matter.
 */
import { lstat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ignoreMissing, openDirectory, openReference } from '../workspace/files/workspace-path.ts';
import type { Reached } from './container-driver.ts';

export const SOCKET_NAME = 'socket';
/** The server inside creates a plain file when it listens. Its name is that of the socket with this ending. */
export const LISTENING = '.listening';
const LOOK_EVERY_MS = 5;
const NOT_SHARED =
  'its server listens, but the socket does not appear on this machine: the container runtime keeps sockets inside. For gVisor, add --host-uds=all to the runtimeArgs of the runtime in the configuration of the daemon, and restart the daemon';

/** Resolves when the socket is there. Rejects if the server listens without one: then waiting would change nothing. */
export async function reachSocket(runDir: string, signal: AbortSignal): Promise<Reached> {
  const has = async (name: string) => (await ignoreMissing(lstat(join(runDir, name)))) !== undefined;
  for (;;) {
    // In this order: the server makes the socket first.
    const listening = await has(SOCKET_NAME + LISTENING);
    if (await has(SOCKET_NAME)) break;
    if (listening) throw new Error(NOT_SHARED);
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
  await using directory = await openDirectory(runDir, []);
  const socket = await openReference(directory, SOCKET_NAME, [SOCKET_NAME]);
  if ((await socket.stat()).isSocket())
    return { connect: () => connect(`/proc/self/fd/${socket.fd}`), close: () => socket.close() };
  await socket.close();
  throw new Error('expected a socket, got another kind of file');
}
