/**
 * The host's directory of one container. The container may fill the mounted part with anything, so the host trusts no
 * name in it and follows no link. What the host has to find again after a crash is beside it.
 *
 *   run/            mounted: the socket of the server inside
 *   workspaces/     mounted: the directories of the server inside, laid out as in workspace/workspaces.ts
 *   slots/<name>    not mounted: one file per workspace that was put in, a `SlotNote`
 */
import { renameSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { WorkspacePathError } from '../workspace/files/path-components.ts';
import { ignoreMissing, inside, openDirectory, openReference } from '../workspace/files/workspace-path.ts';
import { giveTreeTo, type Owner } from '../workspace/give-tree-to.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import { STATES, type Workspace } from '../workspace/workspaces.ts';

export interface SlotNote {
  /** For a workspace without a trajectory: it is deleted with its slot. */
  nobodys: boolean;
  /** Only the server inside could write to what belongs to the workspace but is not inside it, apart from its /tmp. */
  trustedState: boolean;
}

export class ContainerDirectory {
  readonly path: string;
  readonly runDir: string;
  readonly workspacesDir: string;
  readonly #slotsDir: string;

  constructor(path: string) {
    this.path = path;
    this.runDir = join(path, 'run');
    this.workspacesDir = join(path, 'workspaces');
    this.#slotsDir = join(path, 'slots');
  }

  /** `owner` owns the mounted part; without one, the user of this process does. */
  async create(owner: Owner | undefined): Promise<void> {
    await mkdir(this.path, { mode: 0o700 });
    await mkdir(this.#slotsDir, { mode: 0o700 });
    for (const dir of [this.runDir, this.workspacesDir]) {
      await mkdir(dir, { mode: 0o700 });
      if (owner) await giveTo(dir, owner);
    }
  }

  async remove(): Promise<void> {
    await removeTree(this.path);
  }

  workspacePath(name: string): string {
    return join(this.workspacesDir, name);
  }

  /** The workspaces that were put in and not taken out, according to the host's notes. */
  async notes(): Promise<Map<string, SlotNote>> {
    const names = (await ignoreMissing(readdir(this.#slotsDir))) ?? [];
    const found = new Map<string, SlotNote>();
    for (const name of names) found.set(name, await this.#readNote(name));
    return found;
  }

  /** Call before a workspace is put in. */
  async note(name: string, note: SlotNote): Promise<void> {
    await writeFile(join(this.#slotsDir, name), JSON.stringify(note));
  }

  /** Call after it was taken out. */
  async strike(name: string): Promise<void> {
    await ignoreMissing(unlink(join(this.#slotsDir, name)));
  }

  /** `moved` is called in the same turn in which the workspace moves. */
  async putIn({ name, dir, stateDir, tmpDir }: Workspace, user: Owner, moved: () => void): Promise<void> {
    // Its /tmp may have another owner than the directory around it, if a slot has users of its own.
    for (const path of [dir, tmpDir, stateDir]) await giveTreeTo(path, user);
    await move(name, [dirname(stateDir)], [this.workspacesDir, ...STATES]);
    await move(name, [dirname(dir)], [this.workspacesDir], moved);
  }

  async takeOut(
    { name, dir, stateDir, tmpDir }: Workspace,
    { trustedState }: SlotNote,
    moved: () => void,
  ): Promise<void> {
    await move(name, [this.workspacesDir], [dirname(dir)], moved);
    if (trustedState) return move(name, [this.workspacesDir, ...STATES], [dirname(stateDir)]);
    // Commands write to /tmp as they write to the workspace, so it is not trusted in any case.
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    await move(basename(tmpDir), [this.workspacesDir, ...STATES, name], [stateDir]);
  }

  /** A note that a crash left unfinished belongs to a workspace that was not put in yet. */
  async #readNote(name: string): Promise<SlotNote> {
    const text = await readFile(join(this.#slotsDir, name), 'utf8');
    return text === '' ? { nobodys: false, trustedState: false } : (JSON.parse(text) as SlotNote);
  }
}

/** A directory, and a path below it at which the container may have put anything. */
type Place = readonly [root: string, ...components: string[]];

/** Moves a directory; leaves anything else. If nothing is there, nothing happens. */
async function move(name: string, from: Place, to: Place, moved: () => void = () => {}): Promise<void> {
  await using source = await orMissing(openDirectory(...place(from)));
  await using entry = source && (await orMissing(openReference(source, name, [name])));
  if (!source || !entry || !(await entry.stat()).isDirectory()) return moved();
  await using target = await openDirectory(...place(to));
  // Moving a directory needs the permission to write to it, which a command may have removed.
  await chmod(`/proc/self/fd/${entry.fd}`, 0o700);
  renameSync(inside(source, name), inside(target, name));
  moved();
}

function place([root, ...components]: Place): [string, string[]] {
  return [root, components];
}

/** Nothing that a container does to its directories may cause a failure here. */
async function orMissing<T>(opening: Promise<T>): Promise<T | undefined> {
  return opening.catch((error: Error) => {
    if (error instanceof WorkspacePathError) return undefined;
    throw error;
  });
}

async function giveTo(path: string, { uid, gid }: Owner): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, uid, gid);
}
