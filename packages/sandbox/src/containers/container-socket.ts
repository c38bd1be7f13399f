/**
 * The socket of the server inside a container, found in a directory that the container may fill with anything.
 *
 * It is opened once, as a mere reference and following no link, and every connection goes through that reference: so
 * what is put in its place later is never connected to, and the length of its path does not matter.
 */
import { type FileHandle, lstat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ignoreMissing, openDirectory, openReference } from '../workspace/files/workspace-path.ts';

export const SOCKET_NAME = 'socket';
const LOOK_EVERY_MS = 5;

/** Resolves when the socket is there. The caller closes it. */
export async function openSocket(runDir: string, signal: AbortSignal): Promise<FileHandle> {
  while (!(await ignoreMissing(lstat(join(runDir, SOCKET_NAME))))) {
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
  await using directory = await openDirectory(runDir, []);
  const reference = await openReference(directory, SOCKET_NAME, [SOCKET_NAME]);
  if ((await reference.stat()).isSocket()) return reference;
  await reference.close();
  throw new Error('what should be its socket is something else');
}

export function connectThrough(socket: FileHandle): Socket {
  return connect(`/proc/self/fd/${socket.fd}`);
}
