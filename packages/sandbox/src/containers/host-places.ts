/**
 * Workspaces that move: each is either kept, or in the directory of the container whose slot has it. It is in exactly
 * one of them at any time, and `dirOf` always says in which.
 *
 *   kept ─its slot is opened→ in a container ─its slot is closed, or the container is dead→ kept
 *   in a container ─reset, or nobody's→ deleted
 *   kept ─discarded→ deleted
 *   kept, or none ─restored from a snapshot→ kept
 *
 * A workspace in a container is noted on disk before it is put in, and the note is removed after it was taken out. So a
 * crash at any moment leaves a note by which the next start finds what has to be taken out.
 */
import { lstat } from 'node:fs/promises';
import { Digests } from '../workspace/artifacts/digests.ts';
import { atPlace, type SeenAs } from '../workspace/artifacts/workspace-place.ts';
import { ignoreMissing } from '../workspace/files/workspace-path.ts';
import type { Owner } from '../workspace/give-tree-to.ts';
import { trajectoryOf } from '../workspace/workspace-names.ts';
import { viewDirectory, type WorkspaceView } from '../workspace/workspace-view.ts';
import { tmpWithin, type Workspaces } from '../workspace/workspaces.ts';
import { keptWorkspace, type WritableWorkspace } from '../workspace/writing/workspace-directory.ts';
import type { ContainerDirectory } from './container-directory.ts';
import type { PlacedWorkspace, WorkspaceHolder, WorkspacePlaces } from './workspace-places.ts';

type NotedWorkspace = Pick<PlacedWorkspace, 'name' | 'note'>;
type InDirectory = Pick<WorkspaceHolder, 'directory'>;

export class HostPlaces implements WorkspacePlaces {
  readonly #workspaces: Workspaces;
  readonly #owner: Owner;
  readonly #digests = new Digests();
  readonly #containers = new Map<string, ContainerDirectory>();

  /** `owner` owns what is in a container. */
  constructor(workspaces: Workspaces, owner: Owner) {
    this.#workspaces = workspaces;
    this.#owner = owner;
  }

  dirOf(name: string): string {
    return this.#containers.get(name)?.workspacePath(name) ?? this.#workspaces.at(name).dir;
  }

  async find(name: string, seenAs: SeenAs): Promise<WorkspaceView | undefined> {
    const place = () => this.dirOf(name);
    const stats = await atPlace(place, (dir) => ignoreMissing(lstat(dir)));
    return stats?.isDirectory() ? this.held({ name }, seenAs) : undefined;
  }

  /** The workspace never leaves this machine. */
  async isReverted(): Promise<boolean> {
    return false;
  }

  held({ name }: Pick<PlacedWorkspace, 'name'>, seenAs: SeenAs): WorkspaceView {
    return viewDirectory({
      place: () => this.dirOf(name),
      tmp: {
        base: () => this.#containers.get(name)?.workspacesDir ?? this.#workspaces.baseDir,
        within: tmpWithin(name),
      },
      key: this.#workspaces.at(name).dir,
      seenAs,
      digests: this.#digests,
    });
  }

  kept(name: string, { dir }: SeenAs): WritableWorkspace {
    return keptWorkspace(this.#workspaces, name, dir);
  }

  async trajectories(): Promise<string[]> {
    const inContainers = [...this.#containers.keys()].flatMap((name) => trajectoryOf(name) ?? []);
    // Read last: a workspace that is taken out meanwhile is in one of the two, or in both.
    return [...new Set([...inContainers, ...(await this.#workspaces.trajectories())])];
  }

  async putIn({ name, note }: NotedWorkspace, { directory }: InDirectory): Promise<void> {
    await directory.note(name, note);
    await directory.putIn(this.#workspaces.at(name), this.#owner, () =>
      this.#containers.set(name, directory),
    );
  }

  /** Call it only when nothing in the container can write to the workspace any more. */
  async takeOut(
    { name, note }: NotedWorkspace,
    { directory }: InDirectory,
    { discard = false }: { discard?: boolean } = {},
  ): Promise<void> {
    await directory.takeOut(this.#workspaces.at(name), note, () => this.#containers.delete(name));
    if (discard || note.nobodys) await this.discard(name);
    await directory.strike(name);
  }

  /** The workspace is already on this machine. */
  async save(): Promise<void> {}

  async takeOutAll(directory: ContainerDirectory): Promise<void> {
    for (const [name, note] of await directory.notes()) await this.takeOut({ name, note }, { directory });
  }

  replace<T>(name: string, fill: (dir: string) => Promise<T>): Promise<T> {
    return this.#workspaces.replace(name, fill);
  }

  diskUsage(name: string): Promise<number> {
    return this.#workspaces.diskUsage(name);
  }

  async discard(name: string): Promise<void> {
    await this.#workspaces.remove(name);
  }
}
