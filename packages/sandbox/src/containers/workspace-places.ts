/**
 * Where each workspace is: kept, in the directory where every backend finds it, or in the directory of the container
 * whose slot has it. In one of them at any time, and `dirOf` always says in which.
 *
 *   kept ─its slot is opened→ in a container ─its slot is closed, or the container is dead→ kept
 *   in a container ─reset, or nobody's→ deleted
 *   kept ─discarded→ deleted
 *   kept, or none ─restored from a snapshot→ kept
 *
 * What is in a container is noted on disk before it is put in and struck out after it was taken out. So a crash at any
 * moment leaves a note by which the next start finds what has to be taken out.
 */
import { lstat } from 'node:fs/promises';
import type { ContainerUser } from '../docker/container-spec.ts';
import { atPlace } from '../workspace/artifacts/workspace-place.ts';
import { ignoreMissing } from '../workspace/files/workspace-path.ts';
import { trajectoryOf, type Workspaces } from '../workspace/workspaces.ts';
import type { ContainerDirectory, SlotNote } from './container-directory.ts';

export class WorkspacePlaces {
  readonly #workspaces: Workspaces;
  readonly #containers = new Map<string, ContainerDirectory>();

  constructor(workspaces: Workspaces) {
    this.#workspaces = workspaces;
  }

  dirOf(name: string): string {
    return this.#containers.get(name)?.workspacePath(name) ?? this.#workspaces.at(name).dir;
  }

  async exists(name: string): Promise<boolean> {
    const stats = await atPlace(
      () => this.dirOf(name),
      (dir) => ignoreMissing(lstat(dir)),
    );
    return stats?.isDirectory() === true;
  }

  /** Those with a workspace, kept or in a container, as far as names tell. */
  async trajectories(): Promise<string[]> {
    const inContainers = [...this.#containers.keys()].flatMap((name) => trajectoryOf(name) ?? []);
    // Read last: what is taken out meanwhile is in one of the two, or in both.
    return [...new Set([...inContainers, ...(await this.#workspaces.trajectories())])];
  }

  /** Where there is none yet, it is the server in the container that makes it. */
  async putIn(
    name: string,
    container: ContainerDirectory,
    note: SlotNote,
    user: ContainerUser,
  ): Promise<void> {
    await container.note(name, note);
    await container.putIn(this.#workspaces.at(name), user, () => this.#containers.set(name, container));
  }

  /** Only when nothing in the container can write to it any more. */
  async takeOut(
    name: string,
    container: ContainerDirectory,
    note: SlotNote,
    { discard = false }: { discard?: boolean } = {},
  ): Promise<void> {
    await container.takeOut(this.#workspaces.at(name), note, () => this.#containers.delete(name));
    if (discard || note.nobodys) await this.discard(name);
    await container.strike(name);
  }

  /** Everything that is in the directory of a dead container. */
  async takeOutAll(container: ContainerDirectory): Promise<void> {
    for (const [name, note] of await container.notes()) await this.takeOut(name, container, note);
  }

  /** Of one that is kept. */
  replace<T>(name: string, fill: (dir: string) => Promise<T>): Promise<T> {
    return this.#workspaces.replace(name, fill);
  }

  async discard(name: string): Promise<void> {
    await this.#workspaces.remove(name);
  }
}
