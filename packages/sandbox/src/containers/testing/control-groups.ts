/**
 * Control groups of a test's own, in every hierarchy: for a Docker daemon, and for a cluster, so that it leaves nothing in the
 * machine's own groups. They get the processor share of many processes: a group counts as one process, so beside other work on
 * the machine all of its containers together would starve.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const GONE_WITHIN_MS = 10_000;
/** The processor share of twenty processes, by file: version 1 of control groups, then version 2. */
const SHARES = [
  ['cpu.shares', '20480'],
  ['cpu.weight', '2000'],
] as const;

export class ControlGroups implements AsyncDisposable {
  /** From the root of each hierarchy. */
  readonly path = `/talaria-${randomBytes(4).toString('hex')}`;
  readonly #hierarchies: readonly string[];

  private constructor(hierarchies: readonly string[]) {
    this.#hierarchies = hierarchies;
  }

  static async make(): Promise<ControlGroups> {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
    const hierarchies = mounts
      .filter((line) => / cgroup2? /.test(line))
      .map((line) => line.split(' ')[1] ?? '');
    const groups = new ControlGroups(hierarchies);
    for (const dir of hierarchies) {
      const group = join(dir, groups.path);
      await mkdir(group);
      for (const [file, share] of SHARES)
        await writeFile(join(group, file), share, { flag: 'r+' }).catch(() => {});
    }
    return groups;
  }

  /** When nothing runs in them any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const dir of this.#hierarchies) await removeGroup(join(dir, this.path));
  }
}

/** The kernel removes a group only without groups in it, and a moment after its last process has ended. */
async function removeGroup(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true }))
    if (entry.isDirectory()) await removeGroup(join(dir, entry.name));
  for (const deadline = Date.now() + GONE_WITHIN_MS; ; await delay(20)) {
    const failure = await rmdir(dir).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    );
    if (failure?.code !== 'EBUSY' || Date.now() > deadline) return;
  }
}
