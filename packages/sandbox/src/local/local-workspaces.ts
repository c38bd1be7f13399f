/** The workspaces of the local backend by trajectory: directories on this machine, whether or not a slot holds them. */
import type { Readable } from 'node:stream';
import { SandboxError } from '../errors.ts';
import type { RestoredWorkspace, RestoreOptions } from '../snapshots.ts';
import type { TrajectoryWorkspaces } from '../trajectory-workspaces.ts';
import { Digests } from '../workspace/artifacts/digests.ts';
import type { Turns } from '../workspace/files/turns.ts';
import { assertMountable } from '../workspace/mountable.ts';
import { restoreTree } from '../workspace/snapshots/restore-tree.ts';
import { takeSnapshot } from '../workspace/snapshots/take-snapshot.ts';
import { WorkspaceAccess } from '../workspace/workspace-access.ts';
import { workspaceName } from '../workspace/workspace-names.ts';
import { viewDirectory, type WorkspaceView } from '../workspace/workspace-view.ts';
import { tmpWithin, type Workspace, type Workspaces } from '../workspace/workspaces.ts';
import { StagedWriter } from '../workspace/writing/staged-writer.ts';
import { Staging } from '../workspace/writing/staging.ts';
import { removeInPlace, WorkspaceDirectory } from '../workspace/writing/workspace-directory.ts';
import type { OpenWriterOptions, WorkspaceWriter } from '../writing.ts';
import type { IsolationDriver } from './isolation/isolation-driver.ts';
import type { BackendLimits } from './limits/backend-limits.ts';
import { WorkspaceFullError } from './limits/limit-hits.ts';
import { SlotLimits } from './limits/slot-limits.ts';
import type { LocalSlot } from './local-slot.ts';

/** What exists only while the backend is started. */
export interface StartedWorkspaces {
  workspaces: Workspaces;
  isolation: IsolationDriver;
  limits: BackendLimits;
}

export interface LocalWorkspacesOptions {
  /** Throws `backend_down` if the backend is not started. */
  started(): StartedWorkspaces;
  /** By the name of a workspace. The slots of the backend take part. */
  turns: Turns;
  /** The slot that holds the workspace of this name. */
  holderOf(name: string): LocalSlot | undefined;
  writableDirs: readonly string[] | undefined;
}

export class LocalWorkspaces extends WorkspaceAccess implements TrajectoryWorkspaces {
  readonly #options: LocalWorkspacesOptions;
  readonly #digests = new Digests();

  constructor(options: LocalWorkspacesOptions) {
    super();
    this.#options = options;
  }

  async openWriter(
    trajectoryId: string,
    { create = false }: OpenWriterOptions = {},
  ): Promise<WorkspaceWriter | undefined> {
    const name = workspaceName(trajectoryId);
    const { turns } = this.#options;
    const { workspaces } = this.#started();
    if (create) await turns.take(name, () => this.#started().workspaces.create(name));
    else if (!(await workspaces.find(name))) return undefined;
    return new StagedWriter(new Staging(workspaces.stagingDir), (work) =>
      turns.take(name, async () => work(await this.#writable(name))),
    );
  }

  async restore(
    trajectoryId: string,
    snapshot: AsyncIterable<Uint8Array>,
    { signal }: RestoreOptions = {},
  ): Promise<RestoredWorkspace> {
    return this.#whileKept(trajectoryId, (workspaces, name) =>
      workspaces.replace(name, (dir) => restoreTree(dir, snapshot, signal)),
    );
  }

  /** Never: these workspaces stay on this machine. */
  async isReverted(): Promise<boolean> {
    return false;
  }

  async diskUsage(trajectoryId: string): Promise<number> {
    return this.#started().workspaces.diskUsage(workspaceName(trajectoryId));
  }

  async discard(trajectoryId: string): Promise<void> {
    await this.#whileKept(trajectoryId, (workspaces, name) => workspaces.remove(name));
  }

  async list(): Promise<string[]> {
    return this.#started().workspaces.trajectories();
  }

  async mount(trajectoryId: string, dir: string): Promise<void> {
    await assertMountable(dir);
    await this.#started().isolation.mountedOwner(dir);
    await this.#whileKept(trajectoryId, (workspaces, name) => workspaces.mount(name, dir));
  }

  async mountedAt(dir: string): Promise<string[]> {
    return this.#started().workspaces.mountedAt(dir);
  }

  /** A part that must move with a workspace so that commands find everything as they left it; undefined without a workspace. */
  async pack(trajectoryId: string, part: 'workspace' | 'state'): Promise<Readable | undefined> {
    const { workspaces } = this.#started();
    const name = workspaceName(trajectoryId);
    if (!(await workspaces.find(name))) return undefined;
    // Restores permissions that a command may have removed.
    const { dir, stateDir } = await workspaces.create(name);
    return takeSnapshot(() => (part === 'workspace' ? dir : stateDir), {});
  }

  /** Replaces whatever there was; `workspace` clears both parts. */
  async unpack(
    trajectoryId: string,
    part: 'workspace' | 'state',
    packed: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    await this.#whileKept(trajectoryId, async (workspaces, name) => {
      const fill = (dir: string) => restoreTree(dir, packed);
      await (part === 'workspace' ? workspaces.replace(name, fill) : workspaces.replaceState(name, fill));
    });
  }

  view(workspace: Workspace): WorkspaceView {
    const { isolation, workspaces } = this.#started();
    const { dir, name } = workspace;
    return viewDirectory({
      place: () => dir,
      tmp: { base: () => workspaces.baseDir, within: tmpWithin(name) },
      // Two workspaces may be the same directory.
      key: workspaces.at(name).dir,
      seenAs: { dir: isolation.workspaceDir(workspace), tmpDir: isolation.tmpDir(workspace) },
      digests: this.#digests,
    });
  }

  protected override async viewOf(trajectoryId: string): Promise<WorkspaceView | undefined> {
    const workspace = await this.#started().workspaces.find(workspaceName(trajectoryId));
    return workspace && this.view(workspace);
  }

  async #writable(name: string): Promise<WorkspaceDirectory> {
    const { holderOf, writableDirs } = this.#options;
    const { isolation, limits, workspaces } = this.#started();
    const workspace = (await workspaces.find(name)) ?? workspaces.at(name);
    const space =
      holderOf(name)?.limits ?? new SlotLimits(limits, { ...workspace, isNew: false }, writableDirs);
    return new WorkspaceDirectory({
      dir: workspace.dir,
      workspaceDir: isolation.workspaceDir(workspace),
      trash: workspace.isMounted ? removeInPlace : workspaces.trash,
      admit: (bytes) => space.admit(bytes).catch(nameFullness),
      usage: limits.space && ((dir) => limits.space!.usage([dir])),
    });
  }

  /** Works on the workspace of a trajectory that no slot holds; until it is done no slot gets it. */
  #whileKept<T>(
    trajectoryId: string,
    work: (workspaces: Workspaces, name: string) => Promise<T>,
  ): Promise<T> {
    const name = workspaceName(trajectoryId);
    return this.#options.turns.take(name, async () => {
      const { workspaces } = this.#started();
      if (this.#options.holderOf(name)) {
        throw new SandboxError(
          'slot_held',
          `A slot holds the workspace of ${trajectoryId}; release it first.`,
        );
      }
      return await work(workspaces, name);
    });
  }

  #started(): StartedWorkspaces {
    return this.#options.started();
  }
}

function nameFullness(error: Error): never {
  if (!(error instanceof WorkspaceFullError)) throw error;
  throw new SandboxError('workspace_full', error.message, { cause: error });
}
