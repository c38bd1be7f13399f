/**
 * A relay, in the container: its standard input and output become a connection to the socket of the server inside, once
 * that is there. It ends with either.
 *
 * Some platforms keep the input open when the other end has died, and all do when its machine has just vanished. So silence
 * ends it, too: the other end pings every two seconds. The cost is that a server which is paused for a minute loses its containers.
 */
import { lstat } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ignoreMissing } from '../../workspace/files/workspace-path.ts';

const LOOK_EVERY_MS = 5;
const SOCKET_WITHIN_MS = 60_000;
const SILENCE_MS = 60_000;

export async function relay(socketPath: string): Promise<void> {
  // Nothing is sent before the server inside has greeted, so nothing is lost here but the end.
  process.stdin.once('end', exit).resume();
  const limit = AbortSignal.timeout(SOCKET_WITHIN_MS);
  while (!(await ignoreMissing(lstat(socketPath)))) await delay(LOOK_EVERY_MS, undefined, { signal: limit });
  process.stdin.off('end', exit);
  const socket = connect(socketPath);
  const silence = setTimeout(() => socket.destroy(), SILENCE_MS);
  process.stdin.on('data', () => silence.refresh());
  process.stdin.on('error', () => socket.destroy());
  process.stdout.on('error', () => socket.destroy());
  socket.on('error', ({ message }) => console.error(message));
  socket.once('close', exit);
  process.stdin.pipe(socket).pipe(process.stdout);
}

function exit(): void {
  process.exit();
}
