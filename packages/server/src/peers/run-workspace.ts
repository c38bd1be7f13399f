/**
 * The workspace of a run, for the time of one claim.
 *
 * Where several servers share a store, it is on record where the workspace is before the first call can make one. A server
 * that takes a run over finds from that whether it has the files. It may have some and still not have them: of a run it
 * worked on before another server did, it has those of an earlier time. To go on with them would be to undo, unseen, what
 * the run did elsewhere, so they are deleted, and the run is told that its workspace is empty. The same is on record before
 * it is told, so that whoever takes the run over next does not find the files it was told are gone.
 */
import type { ToolBackend } from '@talaria/sandbox';
import type { Lease } from '../journal/journal.ts';
import type { WorkspacePlaces } from '../journal/peers.ts';

/** What a server has to know to have workspaces beside others. */
export interface SharedPlaces {
  serverId: string;
  places: WorkspacePlaces;
}

export interface RunWorkspaceOptions {
  backend: Pick<ToolBackend, 'openWorkspace' | 'discard'>;
  /** Undefined where no other server can have worked on the run. */
  shared: SharedPlaces | undefined;
}

export class RunWorkspace {
  readonly #lease: Lease;
  readonly #options: RunWorkspaceOptions;
  #placing: Promise<void> | undefined;

  constructor(lease: Lease, options: RunWorkspaceOptions) {
    this.#lease = lease;
    this.#options = options;
  }

  /** Before anything is done in it; costs a write the first time. */
  readonly place = (): Promise<void> => {
    const { shared } = this.#options;
    this.#placing ??= shared?.places.place(this.#lease, shared.serverId).catch((error: unknown) => {
      this.#placing = undefined;
      throw error;
    });
    return this.#placing ?? Promise.resolve();
  };

  /** Whether the files of the run are not here. `used`: whether calls of it have worked with any. */
  async isLost(used: boolean): Promise<boolean> {
    const { backend, shared } = this.#options;
    const { runId } = this.#lease;
    const place = await shared?.places.locate(runId);
    const isHere = (await backend.openWorkspace(runId)) !== undefined;
    const isElsewhere = place !== undefined && place.serverId !== shared?.serverId;
    if (!isElsewhere && (isHere || !used)) return false;
    if (isHere) await backend.discard(runId);
    await this.place();
    return true;
  }
}
