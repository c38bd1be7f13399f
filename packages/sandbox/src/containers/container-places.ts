/**
 * Workspaces that travel: while a slot has one, it lives in the container, where only the server inside can reach it.
 * Meanwhile this machine keeps its last checkpoint: its state when the slot was opened, or when it was saved since.
 *
 *   kept ─its slot is opened→ in a container, and as a checkpoint ─its slot is closed→ kept
 *   in a container ─the container is dead, or this process is→ reverted: kept, as of its checkpoint
 *   reverted ─its slot is opened→ in a container, and as a checkpoint
 *   reverted ─restored from a snapshot→ kept
 *   in a container ─reset, or nobody's→ deleted
 *
 * The content of a snapshot travels, and so does the /tmp of the workspace. If only the server inside could write to it, the
 * state of its shell travels, too. A checkpoint is replaced as a whole or not at all. A note on disk says that a workspace is in a
 * container, so that the next process also knows that the files it finds are older.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { revertedError } from '../errors.ts';
import { Digests } from '../workspace/artifacts/digests.ts';
import type { SeenAs } from '../workspace/artifacts/workspace-place.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import { restoreTree } from '../workspace/snapshots/restore-tree.ts';
import { takeSnapshot } from '../workspace/snapshots/take-snapshot.ts';
import { trajectoryOf } from '../workspace/workspace-names.ts';
import { viewDirectory, type WorkspaceView } from '../workspace/workspace-view.ts';
import { TMP, tmpWithin, type Workspaces } from '../workspace/workspaces.ts';
import { keptWorkspace, type WritableWorkspace } from '../workspace/writing/workspace-directory.ts';
import type { ContainerDirectory } from './container-directory.ts';
import { RemoteWorkspace } from './server/remote-workspace.ts';
import type { PlacedWorkspace, WorkspaceHolder, WorkspacePlaces } from './workspace-places.ts';

interface Inside {
  workspace: RemoteWorkspace;
  container: WorkspaceHolder;
}

export class ContainerPlaces implements WorkspacePlaces {
  readonly #kept: Workspaces;
  readonly #maxBytes: number;
  readonly #digests = new Digests();
  readonly #inside = new Map<string, Inside>();

  /** `maxBytes`: what a workspace, and what is beside it, may each take on this machine. */
  constructor(kept: Workspaces, maxBytes: number) {
    this.#kept = kept;
    this.#maxBytes = maxBytes;
  }

  async find(name: string, seenAs: SeenAs): Promise<WorkspaceView | undefined> {
    const exists = this.#inside.has(name) || (await this.#kept.find(name));
    return exists ? this.held({ name }, seenAs) : undefined;
  }

  async isReverted(name: string): Promise<boolean> {
    return !this.#isInside(name) && (await this.#kept.isAway(name));
  }

  held({ name }: Pick<PlacedWorkspace, 'name'>, seenAs: SeenAs): WorkspaceView {
    const { dir } = this.#kept.at(name);
    const kept = viewDirectory({
      place: () => dir,
      tmp: { base: () => this.#kept.baseDir, within: tmpWithin(name) },
      key: dir,
      seenAs,
      digests: this.#digests,
    });
    const current = (): WorkspaceView => {
      const inside = this.#inside.get(name);
      return inside && this.#isInside(name) ? inside.workspace : kept;
    };
    /** Repeats an operation that failed because the workspace moved meanwhile, in the new place. */
    const wherever = async <T>(work: (view: WorkspaceView) => Promise<T>): Promise<T> => {
      for (;;) {
        const view = current();
        try {
          return await work(view);
        } catch (error) {
          if (current() === view) throw error;
        }
      }
    };
    /** Nobody may take old files for the present ones. */
    const assertPresent = async (): Promise<void> => {
      if (await this.isReverted(name)) throw revertedError(name);
    };
    return {
      reader: {
        list: (path, options) => wherever(({ reader }) => reader.list(path, options)),
        open: (path) => wherever(({ reader }) => reader.open(path)),
        archive: (path, options) => wherever(({ reader }) => reader.archive(path, options)),
      },
      capture: (options) =>
        wherever(async (view) => {
          await assertPresent();
          return view.capture(options);
        }),
      // If the container dies meanwhile, its view fails; nothing continues with the kept files.
      async *readFiles(paths, options) {
        const view = current();
        await assertPresent();
        yield* view.readFiles(paths, options);
      },
      snapshot: (options) => wherever((view) => view.snapshot(options)),
    };
  }

  kept(name: string, { dir }: SeenAs): WritableWorkspace {
    return keptWorkspace(this.#kept, name, dir);
  }

  async trajectories(): Promise<string[]> {
    const inside = [...this.#inside.keys()].flatMap((name) => trajectoryOf(name) ?? []);
    // Read last: a workspace that is taken out meanwhile is in one of the two, or in both.
    return [...new Set([...inside, ...(await this.#kept.trajectories())])];
  }

  async putIn({ name, trajectoryId, note }: PlacedWorkspace, container: WorkspaceHolder): Promise<void> {
    const workspace = new RemoteWorkspace(container.client, trajectoryId);
    const kept = await this.#kept.find(name);
    if (kept) {
      await workspace.unpack(
        'workspace',
        takeSnapshot(() => kept.dir, {}),
      );
      if (await this.#kept.hasState(name)) {
        await workspace.unpack(
          'state',
          takeSnapshot(() => kept.stateDir, {}),
        );
      }
    }
    this.#inside.set(name, { workspace, container });
    if (!note.nobodys) await this.#kept.sendAway(name);
  }

  async takeOut(
    placed: PlacedWorkspace,
    container: WorkspaceHolder,
    { discard = false }: { discard?: boolean } = {},
  ): Promise<void> {
    const { name, note } = placed;
    const gone = discard || note.nobodys;
    if (!gone) await this.save(placed);
    const inside = this.#inside.get(name);
    this.#inside.delete(name);
    if (gone) await this.discard(name);
    // The next holder of a slot in this container must find nothing of this workspace.
    if (inside?.container === container) await inside.workspace.discard();
  }

  async save({ name, note }: PlacedWorkspace): Promise<void> {
    const inside = this.#inside.get(name);
    const packed = await inside?.workspace.pack('workspace');
    if (!inside || !packed || note.nobodys) return;
    const unpack = (dir: string, bytes: Readable) => restoreTree(dir, bytes, undefined, this.#maxBytes);
    await this.#kept.replace(name, (dir) => unpack(dir, packed));
    const state = await inside.workspace.pack('state');
    if (!state) return;
    await this.#kept.replaceState(name, async (dir) => {
      await unpack(dir, state);
      if (!note.trustedState) await keepOnlyTmp(dir);
    });
  }

  async takeOutAll({ path }: ContainerDirectory): Promise<void> {
    for (const [name, { container }] of this.#inside)
      if (container.directory.path === path) this.#inside.delete(name);
  }

  replace<T>(name: string, fill: (dir: string) => Promise<T>): Promise<T> {
    return this.#kept.replace(name, fill);
  }

  diskUsage(name: string): Promise<number> {
    return this.#kept.diskUsage(name);
  }

  async discard(name: string): Promise<void> {
    await this.#kept.remove(name);
  }

  #isInside(name: string): boolean {
    const inside = this.#inside.get(name);
    return inside !== undefined && !inside.container.client.lost.aborted;
  }
}

/** Commands write to /tmp as they write to the workspace; the rest of this directory is only for the server. */
async function keepOnlyTmp(stateDir: string): Promise<void> {
  const entries = await readdir(stateDir, { withFileTypes: true });
  const others = entries.filter((entry) => entry.name !== TMP || !entry.isDirectory());
  await removeTree(...others.map(({ name }) => join(stateDir, name)));
}
