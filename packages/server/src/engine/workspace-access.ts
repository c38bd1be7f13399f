/** The files of runs, for the owners of the runs: as they are now, and as they were. */
import { isTerminalStatus, TalariaError } from '@talaria/protocol';
import type { WorkspaceReader, WorkspaceWriter } from '@talaria/sandbox';
import type { Checkpoints } from '../checkpoints/checkpoint-tree.ts';
import type { Journal } from '../journal/journal.ts';
import type { Place } from '../journal/peers.ts';
import { findRun } from './run-access.ts';
import { RunCheckpoints } from './run-checkpoints.ts';

/** Opens the workspace that a run has in this process; undefined for a run without one. */
export type OpenWorkspace = (runId: string) => Promise<WorkspaceReader | undefined>;

/**
 * For writing into the workspace of a run in this process, which a run that is worked on here gets now if it has none;
 * undefined for a run without one.
 */
export type OpenWriter = (runId: string) => Promise<WorkspaceWriter | undefined>;

export function requireWriter(writer: WorkspaceWriter | undefined): WorkspaceWriter {
  if (writer !== undefined) return writer;
  throw new TalariaError('workspace_not_ready', { retryAfterS: 1 });
}

/** On this server or on another one; `reader` is undefined for a run that has no files yet. */
export type FoundWorkspace = { reader: WorkspaceReader | undefined } | { place: Place };

export interface WorkspaceAccessOptions {
  journal: Pick<Journal, 'getRun'>;
  openWorkspace: OpenWorkspace;
  openWriter: OpenWriter;
  /** The server that has the files of the run; undefined if this server has them, or nobody has yet. */
  findElsewhere?(runId: string): Promise<Place | undefined>;
  /** Undefined if the files of runs are not kept step by step. */
  checkpoints?: Checkpoints | undefined;
}

export class WorkspaceAccess {
  readonly #options: WorkspaceAccessOptions;

  constructor(options: WorkspaceAccessOptions) {
    this.#options = options;
  }

  get keepsCheckpoints(): boolean {
    return this.#options.checkpoints !== undefined;
  }

  /** Where the files of a run are, for as long as the run is kept. */
  async find(owner: string, runId: string): Promise<FoundWorkspace> {
    const { openWorkspace, findElsewhere } = this.#options;
    await findRun(this.#options.journal, owner, runId);
    const place = await findElsewhere?.(runId);
    return place === undefined ? { reader: await openWorkspace(runId) } : { place };
  }

  /** The same for writing. A run that is not worked on gets no workspace by it. */
  async findWriter(owner: string, runId: string): Promise<{ writer: WorkspaceWriter } | { place: Place }> {
    const { openWriter, findElsewhere } = this.#options;
    const run = await findRun(this.#options.journal, owner, runId);
    const place = await findElsewhere?.(runId);
    if (place !== undefined) return { place };
    const writer = await openWriter(runId);
    if (writer === undefined && isTerminalStatus(run.state.status)) {
      throw new TalariaError('artifact_not_found', { message: 'The run ended without a workspace' });
    }
    return { writer: requireWriter(writer) };
  }

  /** The files of a run as they were, wherever they are now. */
  async findCheckpoints(owner: string, runId: string): Promise<RunCheckpoints> {
    return new RunCheckpoints(await findRun(this.#options.journal, owner, runId), this.#options.checkpoints);
  }
}
