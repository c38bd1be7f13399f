/**
 * The workspace of a run, for the time of one claim.
 *
 * If several servers share a store, the location of the workspace is recorded before the first call can create one. A
 * server that takes a run over learns from the record whether it has the files. It may have outdated ones: if it worked
 * on the run before another server did, its files are from an earlier time. Continuing with them would silently undo
 * what the run did elsewhere. So they are deleted, and the run is told that its workspace is empty. That is recorded
 * before the run is told, so that the next owner does not find files that the run was told are gone.
 *
 * The sandbox may have outdated files, too: if a server was killed, its files in a far container are gone, and older ones are
 * here.
 */
import type { TrajectoryWorkspaces } from '@talaria/sandbox';
import type { Lease } from '../journal/journal.ts';
import type { WorkspacePlaces } from '../journal/peers.ts';

/** What a server must know about workspaces on other servers. */
export interface SharedPlaces {
  serverId: string;
  places: WorkspacePlaces;
}

export interface RunWorkspaceOptions {
  workspaces: Pick<TrajectoryWorkspaces, 'open' | 'isReverted' | 'discard'>;
  /** Undefined if no other server can have worked on the run. */
  shared: SharedPlaces | undefined;
}

/** `reverted`: older files than those of the last calls are here, if any. `lost`: none are. */
export type FoundWorkspace = 'here' | 'reverted' | 'lost';

export class RunWorkspace {
  readonly #lease: Lease;
  readonly #options: RunWorkspaceOptions;
  /** Whether the files that the run begins with are being put in place. */
  isPreparing = false;
  #placing: Promise<void> | undefined;

  constructor(lease: Lease, options: RunWorkspaceOptions) {
    this.#lease = lease;
    this.#options = options;
  }

  /** Records that the workspace is on this server. Call it before anything is done there; the first call costs a write. */
  readonly place = (): Promise<void> => {
    const { shared } = this.#options;
    this.#placing ??= shared?.places.place(this.#lease, shared.serverId).catch((error: unknown) => {
      this.#placing = undefined;
      throw error;
    });
    return this.#placing ?? Promise.resolve();
  };

  /** Finds out which files of the run are here, and deletes outdated ones. `used`: whether its calls have worked with any. */
  async find(used: boolean): Promise<FoundWorkspace> {
    const { workspaces, shared } = this.#options;
    const { runId } = this.#lease;
    const place = await shared?.places.locate(runId);
    const isHere = (await workspaces.open(runId)) !== undefined;
    const isElsewhere = place !== undefined && place.serverId !== shared?.serverId;
    if (!isElsewhere && (await workspaces.isReverted(runId))) return 'reverted';
    if (!isElsewhere && (isHere || !used)) return 'here';
    if (isHere) await workspaces.discard(runId);
    await this.place();
    return 'lost';
  }
}
