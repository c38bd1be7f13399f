/**
 * The place for small unnamed files: in memory if the machine has such a place, so that creating them synchronously waits for
 * no disk.
 *
 * A script has a name only for a moment, a directory of pipes while its server runs. A server that is killed leaves them. So
 * the name says to which process it belongs, and the next start removes what belongs to no living process. A command can read
 * the name of its output for as long as it runs, so the name contains a digest and not a pid.
 */
import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { livingTokens, processToken } from '../../host/process-table.ts';

const MEMORY_DIR = '/dev/shm';

const NAME = /^talaria-(?:pipes|script)-(?:(\d+)-([0-9a-f]{16})-)?/;
/** Decides about files from another pid namespace, or from an earlier version. A server changes its directory with each command. */
const OLD_MS = 24 * 60 * 60 * 1000;

/** `elsewhere` is used if there is no such place, or no room in it. */
export function inMemoryOr<T>(elsewhere: string, make: (dir: string) => T): T {
  try {
    return make(MEMORY_DIR);
  } catch {
    return make(elsewhere);
  }
}

/** A unique name that tells a later process that this one is gone. */
export function momentaryName(kind: 'pipes' | 'script'): string {
  return `talaria-${kind}-${pidNamespace()}-${digestOf(processToken())}-${randomUUID()}`;
}

/** Removes what dead processes of this user have left. */
export function sweepMomentary(): void {
  // Read after the names, so that the owner of each name is among them; and seldom at all, because few leave a name.
  let living: ReadonlySet<string> | undefined;
  const isLiving: IsLiving = (owner) => {
    living ??= new Set(livingTokens().map(digestOf));
    return living.has(owner);
  };
  const named = [MEMORY_DIR, tmpdir()].map((dir) => ({ dir, names: entriesOf(dir) }));
  for (const { dir, names } of named) {
    for (const name of names) if (isAbandoned(dir, name, isLiving)) removeIfThere(join(dir, name));
  }
}

type IsLiving = (owner: string) => boolean;

function isAbandoned(dir: string, name: string, isLiving: IsLiving): boolean {
  const [known, namespace, owner] = NAME.exec(name) ?? [];
  if (known === undefined) return false;
  const stats = lstatSync(join(dir, name), { throwIfNoEntry: false });
  if (stats?.uid !== process.getuid?.()) return false;
  if (owner !== undefined && namespace === pidNamespace()) return !isLiving(owner);
  return stats !== undefined && Date.now() - stats.mtimeMs > OLD_MS;
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16);
}

/** The number of its pid namespace. The same pid is another process in another namespace. */
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
    // Another server that starts now was faster, or we may not remove it.
  }
}
