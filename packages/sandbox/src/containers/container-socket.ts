/**
 * The socket of the server inside a container, found in a directory that the container may fill with anything.
 *
 * It is opened once, as a mere reference and following no link, and every connection goes through that reference: so
 * what is put in its place later is never connected to, and the length of its path does not matter.
 */
import { lstat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ignoreMissing, openDirectory, openReference } from '../workspace/files/workspace-path.ts';
import type { Reached } from './container-driver.ts';

export const SOCKET_NAME = 'socket';
const LOOK_EVERY_MS = 5;

/** Resolves when the socket is there. */
export async function reachSocket(runDir: string, signal: AbortSignal): Promise<Reached> {
  while (!(await ignoreMissing(lstat(join(runDir, SOCKET_NAME))))) {
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
  await using directory = await openDirectory(runDir, []);
  const socket = await openReference(directory, SOCKET_NAME, [SOCKET_NAME]);
  if ((await socket.stat()).isSocket())
    return { connect: () => connect(`/proc/self/fd/${socket.fd}`), close: () => socket.close() };
  await socket.close();
  throw new Error('what should be its socket is something else');
}
