/**
 * The directories that a backend of any kind keeps on this machine.
 *
 *   <workspacesDir>/<name>                 the workspace of a trajectory, 0700; or a link to the directory that it works in
 *   <workspacesDir>/.sandbox/root-<…>      the skeleton of the file system that commands of one backend see
 *   <workspacesDir>/.sandbox/slots/<name>  what belongs to a workspace but not inside it: `tmp` is its /tmp
 *   <workspacesDir>/.sandbox/away/<name>   says that the workspace is in a container, and what is here is older
 *   <workspacesDir>/.sandbox/trash/        workspaces on their way out, those that are being restored, and files on their
 *                                          way into one
 *
 * A workspace's name depends only on its trajectory id, so a restarted process finds it again. A command owns its
 * workspace and may fill it with anything, so nothing here follows a link in it, and the private directories are
 * outside it.
 *
 * A mounted workspace is a directory of the operator, which outlives its trajectories. Its link is all that belongs to a
 * trajectory: creating, replacing and removing a workspace change the link and never what it leads to. A link counts only while
 * the backend's options allow its directory to be mounted.
 */
import type { Dirent } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { SandboxError } from '../errors.ts';
import { type DiskUsage, findDiskUsage } from '../host/disk-usage.ts';
import { ignoreMissing } from './files/workspace-path.ts';
import { isAbandoned, ownedName } from './owned-names.ts';
import { removeTree } from './remove-tree.ts';
import { trajectoryOf, WORKSPACE_NAME } from './workspace-names.ts';

const ROOT = 'root-';
/** Where what belongs to workspaces but is not inside them is, below the directory of all workspaces. */
export const STATES = ['.sandbox', 'slots'] as const;
/** Its /tmp, there. */
export const TMP = 'tmp';

export interface Workspace {
  readonly name: string;
  /** Its path on the host. */
  readonly dir: string;
  /** The host directory that commands see as /tmp: it outlives a command, as agents expect of /tmp. */
  readonly tmpDir: string;
  /** For files that an isolation keeps about this workspace; commands cannot see it. */
  readonly stateDir: string;
  /** For files on their way into it, on its file system; a start deletes what dead processes left there. */
  readonly stagingDir: string;
  /** The kernel user of its commands while a slot holds it; the server's own if there is none. */
  readonly user?: number | undefined;
  /** Their group, if its number is not that of the user. */
  readonly group?: number | undefined;
  /** It is a directory of the operator: its owner and permissions stay as they are. */
  readonly isMounted?: true;
}

export interface CreatedWorkspace extends Workspace {
  /** Whether it was created now and so is empty. */
  readonly isNew: boolean;
}

export class Workspaces {
  readonly baseDir: string;
  readonly rootDir: string;
  readonly #slotsDir: string;
  readonly #awayDir: string;
  readonly #trashDir: string;
  readonly #mountable: ReadonlySet<string>;
  #usage: Promise<DiskUsage> | undefined;

  private constructor(baseDir: string, mountable: readonly string[]) {
    this.baseDir = baseDir;
    this.#mountable = new Set(mountable);
    this.rootDir = join(baseDir, '.sandbox', ROOT + ownedName());
    this.#slotsDir = join(baseDir, ...STATES);
    this.#awayDir = join(baseDir, '.sandbox', 'away');
    this.#trashDir = join(baseDir, '.sandbox', 'trash');
  }

  /** `mountable`: the directories that workspaces may be. */
  static async open(workspacesDir: string, mountable: readonly string[] = []): Promise<Workspaces> {
    await mkdir(workspacesDir, { recursive: true, mode: 0o700 });
    const workspaces = new Workspaces(await realpath(workspacesDir), mountable);
    await mkdir(workspaces.#slotsDir, { recursive: true, mode: 0o700 });
    await mkdir(workspaces.#awayDir, { recursive: true, mode: 0o700 });
    await mkdir(workspaces.#trashDir, { recursive: true, mode: 0o700 });
    await workspaces.#sweep();
    return workspaces;
  }

  /** A directory for files on their way into a workspace; a start deletes what dead processes left in it (owned-names.ts). */
  get stagingDir(): string {
    return this.#trashDir;
  }

  /** Removes the files that only live as long as the backend. */
  async close(): Promise<void> {
    await removeTree(this.rootDir);
  }

  async create(name: string): Promise<CreatedWorkspace> {
    const workspace = this.at(name);
    const makePrivate = async () => {
      await makeDirectory(workspace.stateDir);
      return makeDirectory(workspace.tmpDir);
    };
    const mounted = this.#mountable.size === 0 ? undefined : await this.#mounted(workspace);
    if (mounted) {
      await makePrivate();
      return { ...mounted, isNew: false };
    }
    const made = await Promise.all([makeDirectory(workspace.dir), makePrivate()]);
    return { ...workspace, isNew: made.every(Boolean) };
  }

  /** The workspace with this name, if it was created and not removed since. */
  async find(name: string): Promise<Workspace | undefined> {
    const workspace = this.at(name);
    const stats = await lstat(workspace.dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (stats?.isSymbolicLink()) return this.#mounted(workspace);
    return stats?.isDirectory() ? workspace : undefined;
  }

  /**
   * Makes this directory the workspace, after `assertMountable`. Whatever workspace had the name is removed, unless it is this
   * one.
   */
  async mount(name: string, dir: string): Promise<void> {
    if (!this.#mountable.has(dir)) {
      throw new SandboxError('invalid_request', `${dir} is not one of the directories that may be mounted.`);
    }
    const workspace = this.at(name);
    if ((await this.#mounted(workspace))?.dir === dir) return;
    await this.remove(name);
    await symlink(dir, workspace.dir);
  }

  /** The trajectories whose workspace is this directory, as far as names tell. */
  async mountedAt(dir: string): Promise<string[]> {
    const entries = await readdir(this.baseDir, { withFileTypes: true });
    const links = entries.filter((entry) => entry.isSymbolicLink());
    const found = links.map(async ({ name }) =>
      (await readTarget(this.at(name).dir)) === dir ? (trajectoryOf(name) ?? []) : [],
    );
    return (await Promise.all(found)).flat();
  }

  /** The trajectories with a workspace here, or with a note that it is away, as far as names tell. */
  async trajectories(): Promise<string[]> {
    const entries = await readdir(this.baseDir, { withFileTypes: true });
    const here = entries.filter(isWorkspace).map(({ name }) => name);
    // Another backend may have purged these workspaces by now.
    const away = (await ignoreMissing(readdir(this.#awayDir))) ?? [];
    return [...new Set([...here, ...away])].flatMap((name) => trajectoryOf(name) ?? []);
  }

  /** Deletes a workspace and what belongs to it. It is moved away at once, even if deleting takes long. */
  async remove(name: string): Promise<void> {
    const { dir, stateDir } = this.at(name);
    const trashed = [await this.#trash(dir), await this.#trash(stateDir)];
    await rm(join(this.#awayDir, name), { force: true });
    // Together: a training loop resets a workspace with every episode.
    await removeTree(...trashed.filter((path) => path !== undefined));
  }

  /**
   * Replaces the workspace and what belongs to it by what `fill` creates: all of it, or nothing is changed. If the
   * process is killed meanwhile, the next start deletes what it had created.
   */
  async replace<T>(name: string, fill: (dir: string) => Promise<T>): Promise<T> {
    return this.#putInPlace(this.at(name).dir, fill, () => this.remove(name));
  }

  /** Notes that the workspace works elsewhere, until it is replaced or removed here. */
  async sendAway(name: string): Promise<void> {
    await writeFile(join(this.#awayDir, name), '');
  }

  async isAway(name: string): Promise<boolean> {
    return (await ignoreMissing(lstat(join(this.#awayDir, name)))) !== undefined;
  }

  /** What the workspace and what belongs to it take; the directory of the operator that it may be belongs to others. */
  async diskUsage(name: string): Promise<number> {
    const { dir, stateDir } = this.at(name);
    const own: string[] = [];
    for (const path of [dir, stateDir]) if ((await ignoreMissing(lstat(path)))?.isDirectory()) own.push(path);
    if (own.length === 0) return 0;
    this.#usage ??= findDiskUsage();
    return (await this.#usage)(own);
  }

  async hasState(name: string): Promise<boolean> {
    return (await ignoreMissing(lstat(this.at(name).stateDir))) !== undefined;
  }

  /** The same for what belongs to the workspace but is not inside it. */
  async replaceState<T>(name: string, fill: (dir: string) => Promise<T>): Promise<T> {
    return this.#putInPlace(this.at(name).stateDir, fill, async () => {
      const trashed = await this.#trash(this.at(name).stateDir);
      if (trashed) await removeTree(trashed);
    });
  }

  /** Deletes a directory of a workspace; it is gone from there at once, even if deleting takes long. */
  readonly trash = async (path: string): Promise<void> => {
    const trashed = join(this.#trashDir, ownedName());
    await rename(path, trashed);
    await removeTree(trashed);
  };

  /** Deletes every workspace, and nothing in the directory that is not one. */
  async removeAll(): Promise<void> {
    for (const name of await readdir(this.baseDir)) {
      if (WORKSPACE_NAME.test(name)) await this.#trash(join(this.baseDir, name));
    }
    await removeTree(join(this.baseDir, '.sandbox'));
  }

  /** Deletes what a killed process left behind. */
  async #sweep(): Promise<void> {
    // Another backend may have purged these workspaces by now.
    for (const entry of (await ignoreMissing(readdir(this.#trashDir))) ?? [])
      if (isAbandoned(entry)) await removeTree(join(this.#trashDir, entry));
    const privateDir = join(this.baseDir, '.sandbox');
    for (const entry of await readdir(privateDir))
      if (entry.startsWith(ROOT) && isAbandoned(entry.slice(ROOT.length)))
        await removeTree(join(privateDir, entry));
  }

  /** The path of the workspace with this name, whether or not it exists. */
  at(name: string): Workspace {
    const stateDir = join(this.#slotsDir, name);
    const stagingDir = this.#trashDir;
    return { name, dir: join(this.baseDir, name), stateDir, tmpDir: join(stateDir, TMP), stagingDir };
  }

  async #putInPlace<T>(
    path: string,
    fill: (dir: string) => Promise<T>,
    clear: () => Promise<void>,
  ): Promise<T> {
    const made = join(this.#trashDir, ownedName());
    await mkdir(made, { mode: 0o700 });
    try {
      const result = await fill(made);
      await clear();
      await rename(made, path);
      return result;
    } catch (error) {
      await removeTree(made);
      throw error;
    }
  }

  async #mounted(workspace: Workspace): Promise<Workspace | undefined> {
    const dir = await readTarget(workspace.dir);
    if (dir === undefined || !this.#mountable.has(dir)) return undefined;
    const stats = await ignoreMissing(lstat(dir));
    return stats?.isDirectory() ? { ...workspace, dir, isMounted: true } : undefined;
  }

  async #trash(path: string): Promise<string | undefined> {
    if ((await readTarget(path)) !== undefined) {
      await unlink(path);
      return undefined;
    }
    const trashed = join(this.#trashDir, ownedName());
    try {
      await rename(path, trashed);
      return trashed;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return undefined;
    }
  }
}

/** The /tmp of the workspace with this name: the components below the directory of all workspaces. */
export function tmpWithin(name: string): string[] {
  return [...STATES, name, TMP];
}

/** Undefined for everything but a link. */
async function readTarget(path: string): Promise<string | undefined> {
  return readlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EINVAL' || error.code === 'ENOENT') return undefined;
    throw error;
  });
}

function isWorkspace(entry: Dirent): boolean {
  return entry.isDirectory() || entry.isSymbolicLink();
}

/** False if it was there already. */
async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (!(await lstat(path)).isDirectory()) {
    throw new SandboxError('slot_unavailable', `${path} should be a directory; remove it and try again.`);
  }
  // A command may have removed the permissions of its own directory.
  await chmod(path, 0o700);
  return false;
}
