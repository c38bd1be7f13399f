/**
 * Descriptors that this process inherited, beyond the usual three, and that are not closed on exec: its children would
 * get them too, perhaps a file or a socket that is not theirs. Node can neither close one (it may be in use) nor mark
 * it, but it can give a child something else under that number.
 */
import { openSync, readdirSync, readFileSync } from 'node:fs';

/** As /proc shows it, on every architecture Node is built for; node:fs does not name it. */
const O_CLOEXEC = 0o2000000;

let inherited: readonly number[] | undefined;
let nowhere: number | undefined;

/** In ascending order. Computed once: Node closes its own descriptors in a child. */
export function inheritedDescriptors(): readonly number[] {
  inherited ??= readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && isInherited(fd))
    .sort((one, other) => one - other);
  return inherited;
}

/**
 * The descriptors of a child, as `spawn` takes them: the given ones, and nothing at the numbers of the inherited ones.
 */
export function withoutInherited<Entry>(stdio: readonly Entry[]): (Entry | number | 'ignore')[] {
  const all: (Entry | number | 'ignore')[] = [...stdio];
  for (const fd of inheritedDescriptors()) {
    if (fd < stdio.length) continue;
    // spawn leaves out descriptors that it should ignore.
    while (all.length < fd) all.push('ignore');
    nowhere ??= openSync('/dev/null', 'r');
    all[fd] = nowhere;
  }
  return all;
}

function isInherited(fd: number): boolean {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
    const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1];
    return flags !== undefined && !(Number.parseInt(flags, 8) & O_CLOEXEC);
  } catch {
    // The one with which the directory was read.
    return false;
  }
}
