/**
 * The part of a workspaces directory that belongs to the containers of one driver.
 *
 *   <workspacesDir>/.sandbox/<driver>/server                     the id of this server, also after a restart
 *   <workspacesDir>/.sandbox/<driver>/<instance>/lease           held by the process that is this instance (lease.ts)
 *   <workspacesDir>/.sandbox/<driver>/<instance>/<container>/    container-directory.ts
 *
 * Every container carries the server's id, the path of its instance's lease and the machine of that path as labels. So a server
 * that starts after a crash knows which containers were its own, and which of those belong to no living process.
 *
 * A copy of the directory has the same id: a backup that is tried out, a cloned machine. On the machine of the first server its
 * leases show that it lives. On another machine nobody can tell.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, lstat, mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ignoreMissing } from '../workspace/files/workspace-path.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import { ContainerDirectory } from './container-directory.ts';
import { holdLease, isLeaseHeld, type Lease } from './lease.ts';

export const LABELS = {
  server: 'talaria.server',
  lease: 'talaria.lease',
  machine: 'talaria.machine',
} as const;

const LEASE = 'lease';
const INSTANCE = 'instance-';
const SERVER = 'server';

export interface AbandonedInstance {
  path: string;
  containers: ContainerDirectory[];
  remove(): Promise<void>;
}

export class HostDirectory {
  readonly serverId: string;
  readonly #dir: string;
  readonly #instanceDir: string;
  readonly #lease: Lease;

  private constructor(dir: string, serverId: string, instanceDir: string, lease: Lease) {
    this.#dir = dir;
    this.serverId = serverId;
    this.#instanceDir = instanceDir;
    this.#lease = lease;
  }

  /** Whether containers were ever started from here. */
  static async exists(workspacesDir: string, driver: string): Promise<boolean> {
    return (await ignoreMissing(lstat(join(dirOf(workspacesDir, driver), SERVER)))) !== undefined;
  }

  static async open(workspacesDir: string, driver: string): Promise<HostDirectory> {
    const dir = dirOf(workspacesDir, driver);
    const id = randomUUID();
    const openingDir = join(dir, `opening-${id}`);
    await mkdir(openingDir, { recursive: true, mode: 0o700 });
    const serverId = await readServerId(join(dir, SERVER));
    const lease = await holdLease(join(openingDir, LEASE));
    // A sweep sees it with its lease or not at all.
    const instanceDir = join(dir, INSTANCE + id);
    await rename(openingDir, instanceDir);
    return new HostDirectory(dir, serverId, instanceDir, lease);
  }

  get labels(): Record<string, string> {
    return {
      [LABELS.server]: this.serverId,
      [LABELS.lease]: this.#leasePath,
      [LABELS.machine]: thisMachine(),
    };
  }

  container(name: string): ContainerDirectory {
    return new ContainerDirectory(join(this.#instanceDir, name));
  }

  /**
   * Whether a living process started a container with these labels, and which: this one or another. This machine cannot
   * tell for a container that another machine started. Labels of earlier versions name no machine.
   */
  async ownerOf(labels: Readonly<Record<string, string>>): Promise<'this' | 'other' | 'nobody' | 'unknown'> {
    const { [LABELS.lease]: lease, [LABELS.machine]: machine = thisMachine() } = labels;
    if (lease === this.#leasePath) return 'this';
    if (machine !== thisMachine()) return 'unknown';
    return lease !== undefined && (await isLeaseHeld(lease)) ? 'other' : 'nobody';
  }

  /** Instances whose process is dead, with what they left. Without those that disappear meanwhile. */
  async abandoned(): Promise<AbandonedInstance[]> {
    const found: AbandonedInstance[] = [];
    for (const name of await readdir(this.#dir)) {
      const dir = join(this.#dir, name);
      if (!name.startsWith(INSTANCE) || dir === this.#instanceDir) continue;
      if (await isLeaseHeld(join(dir, LEASE))) continue;
      const left = await leftIn(dir);
      const containers = left?.map((each) => new ContainerDirectory(join(dir, each)));
      if (containers) found.push({ path: dir, containers, remove: () => removeTree(dir) });
    }
    return found;
  }

  /** The next start handles what is left of it, or another server that sweeps as soon as the lease is released. */
  async close(): Promise<void> {
    await this.#lease.release();
    const left = await leftIn(this.#instanceDir);
    if (left?.length === 0) await removeTree(this.#instanceDir);
  }

  get #leasePath(): string {
    return join(this.#instanceDir, LEASE);
  }
}

function dirOf(workspacesDir: string, driver: string): string {
  return join(workspacesDir, '.sandbox', driver);
}

/** The names of the containers in an instance; undefined if there is no such instance any more. */
async function leftIn(instanceDir: string): Promise<string[] | undefined> {
  const names = await ignoreMissing(readdir(instanceDir));
  return names?.filter((name) => name !== LEASE);
}

/** Identifies this machine until its next start, and tells it from the containers that share its kernel. */
function thisMachine(): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');
  return createHash('sha256').update(`${boot}${hostname()}`).digest('hex').slice(0, 32);
}

/** Written completely or not at all; the first of several writers wins. */
async function readServerId(path: string): Promise<string> {
  const draft = `${path}-${randomUUID()}`;
  await writeFile(draft, randomUUID());
  try {
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(draft);
  }
  return (await readFile(path, 'utf8')).trim();
}
