import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** Unmounts what a daemon has left mounted in its directory. Until then nobody can remove the directory. */
export async function unmountBelow(dir: string): Promise<void> {
  const mounted = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const points = mounted
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point.startsWith(`${dir}/`));
  for (const point of points) await promisify(execFile)('umount', ['--lazy', point]);
}
