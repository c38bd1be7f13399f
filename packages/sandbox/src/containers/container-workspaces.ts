/** The workspaces of a container backend by trajectory: in a slot's container, or kept where the driver keeps them. */
import { revertedError } from '../errors.ts';
import type { RestoredWorkspace, RestoreOptions } from '../snapshots.ts';
import type { TrajectoryWorkspaces } from '../trajectory-workspaces.ts';
import { restoreTree } from '../workspace/snapshots/restore-tree.ts';
import { WorkspaceAccess } from '../workspace/workspace-access.ts';
import { workspaceName } from '../workspace/workspace-names.ts';
import type { WorkspaceView } from '../workspace/workspace-view.ts';
import { StagedWriter } from '../workspace/writing/staged-writer.ts';
import type { OpenWriterOptions, WorkspaceWriter } from '../writing.ts';
import type { RunningBackend } from './running-backend.ts';
import { RemoteWorkspace } from './server/remote-workspace.ts';

export class ContainerWorkspaces extends WorkspaceAccess implements TrajectoryWorkspaces {
  /** Throws `backend_down` if the backend is not started. */
  readonly #started: () => RunningBackend;

  constructor(started: () => RunningBackend) {
    super();
    this.#started = started;
  }

  async openWriter(
    trajectoryId: string,
    { create = false }: OpenWriterOptions = {},
  ): Promise<WorkspaceWriter | undefined> {
    const name = workspaceName(trajectoryId);
    const { pool, places, staging } = this.#started();
    const find = async () => this.#started().places.find(name, this.#started().seenAs(name));
    if (!(await find())) {
      if (!create) return undefined;
      await pool.inPlace(trajectoryId, async () => {
        // An empty workspace would pass for the one that was lost.
        if (!(await find()) && !(await places.isReverted(name))) await places.replace(name, async () => {});
      });
    }
    return new StagedWriter(staging, (work) =>
      this.#started().pool.inPlace(trajectoryId, async (container) => {
        if (container) return work(new RemoteWorkspace(container.client, trajectoryId));
        if (await places.isReverted(name)) throw revertedError(trajectoryId);
        return work(places.kept(name, this.#started().seenAs(name)));
      }),
    );
  }

  async restore(
    trajectoryId: string,
    snapshot: AsyncIterable<Uint8Array>,
    { signal }: RestoreOptions = {},
  ): Promise<RestoredWorkspace> {
    const name = workspaceName(trajectoryId);
    const { pool, places } = this.#started();
    return pool.whileKept(trajectoryId, () =>
      places.replace(name, (dir) => restoreTree(dir, snapshot, signal)),
    );
  }

  async isReverted(trajectoryId: string): Promise<boolean> {
    return this.#started().places.isReverted(workspaceName(trajectoryId));
  }

  async diskUsage(trajectoryId: string): Promise<number> {
    return this.#started().places.diskUsage(workspaceName(trajectoryId));
  }

  async discard(trajectoryId: string): Promise<void> {
    await this.#started().pool.discard(trajectoryId);
  }

  async list(): Promise<string[]> {
    return this.#started().places.trajectories();
  }

  protected override async viewOf(trajectoryId: string): Promise<WorkspaceView | undefined> {
    const running = this.#started();
    const name = workspaceName(trajectoryId);
    return await running.places.find(name, running.seenAs(name));
  }
}
