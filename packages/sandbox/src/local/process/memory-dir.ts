/**
 * Where small files without a name are made: in memory where the machine has such a place, so that making them in
 * place, not through the thread pool, waits for no disk.
 *
 * They have a name for a moment only. A server that is killed in that moment leaves it, so the name tells whose it is and
 * the next start removes what belongs to no living process. A command can read the name of its output for as long as it
 * runs, so it tells that by a digest and not by a pid.
 */
import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { livingTokens, processToken } from '../../host/process-table.ts';

const MEMORY_DIR = '/dev/shm';

const NAME = /^talaria-(?:pipes|script)-(?:(\d+)-([0-9a-f]{16})-)?/;
/** Nothing has its name for so long. It decides about what is of another pid namespace, or of an earlier version. */
const OLD_MS = 60_000;

/** `elsewhere` is used where there is no such place, or no room in it. */
export function inMemoryOr<T>(elsewhere: string, make: (dir: string) => T): T {
  try {
    return make(MEMORY_DIR);
  } catch {
    return make(elsewhere);
  }
}

/** A name that nothing else has, and by which a later process knows that this one is gone. */
export function momentaryName(kind: 'pipes' | 'script'): string {
  return `talaria-${kind}-${pidNamespace()}-${digestOf(processToken())}-${randomUUID()}`;
}

/** Removes what processes that are gone have left, of this user's. */
export function sweepMomentary(): void {
  const living = new Set(livingTokens().map(digestOf));
  for (const dir of [MEMORY_DIR, tmpdir()]) {
    for (const name of entriesOf(dir)) if (isAbandoned(dir, name, living)) removeIfThere(join(dir, name));
  }
}

function isAbandoned(dir: string, name: string, living: ReadonlySet<string>): boolean {
  const [known, namespace, owner] = NAME.exec(name) ?? [];
  if (known === undefined) return false;
  const stats = lstatSync(join(dir, name), { throwIfNoEntry: false });
  if (stats?.uid !== process.getuid?.()) return false;
  if (owner !== undefined && namespace === pidNamespace()) return !living.has(owner);
  return stats !== undefined && Date.now() - stats.mtimeMs > OLD_MS;
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16);
}

/** Its number. The same pid is somebody else in another. */
function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function removeIfThere(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Another server that starts now was faster, or it is not ours to remove.
  }
}
