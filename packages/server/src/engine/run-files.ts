/**
 * The files of a run, for the time of one claim: what they begin with, where they are after a restart, and their checkpoints.
 *
 *   inherit ──▶ prepare ──▶ keep, after the calls of each step ──▶ keep, before the end ──▶ the session
 *
 * Each step is recorded before the next begins, so that the next owner continues where this one was lost: what is inherited and
 * what is prepared are records, and a checkpoint is one. Everything before `workspace.prepared` is done again.
 */
import { TalariaError } from '@talaria/protocol';
import { Handover, RunFailure } from '../agent/agent-run.ts';
import type { CallOutcome, Progress } from '../agent/progress.ts';
import type { RecoveredWorkspace } from '../agent/tools/recovered-workspace.ts';
import { failpoint } from '../basics/failpoints.ts';
import type { MadeCheckpoint } from '../checkpoints/checkpoint-maker.ts';
import {
  type Checkpoint,
  type CheckpointOrigin,
  isMissed,
  type KeptSessionFiles,
} from '../journal/checkpoints.ts';
import { runHolder } from '../journal/contents.ts';
import type { AppendOptions, Claim, Journal } from '../journal/journal.ts';
import type { Message } from '../journal/messages.ts';
import type { NewRecord } from '../journal/records.ts';
import type { WorkspaceSetup } from '../journal/workspace-setup.ts';
import { type FoundFiles, findSessionFiles } from './session-files.ts';

/** The files that a run begins with: those of another run, and on top of them what its client asked for. */
export interface FirstFiles {
  inherited?: Checkpoint | undefined;
  setup?: WorkspaceSetup | undefined;
}

/** The workspace of a run, which its tools work on. */
export interface RunWorkspaceFiles {
  /** Whether the tool with this name works on files. */
  isUsedBy(tool: string): boolean;
  /** Puts in place what the run begins with, from scratch. Rejects with a `RunFailure` that names the part that failed. */
  prepare(first: FirstFiles, signal: AbortSignal): Promise<void>;
  /**
   * Lets the run work in a directory of the operator, from now on or still. Rejects with a `RunFailure` if the operator does not
   * allow that any more, or another run works there.
   */
  mount(directory: string): Promise<void>;
  /**
   * Before the run continues under a new owner: finds the files, or brings them here from the last checkpoint. `prepared`: it
   * began with files.
   */
  recover(
    conversation: readonly Message[],
    prepared: boolean,
    signal: AbortSignal,
  ): Promise<RecoveredWorkspace>;
  /** Keeps the files as they are up to this position of the log; undefined if there is nothing to record. */
  checkpoint(
    upto: number,
    origin: CheckpointOrigin,
    signal?: AbortSignal,
  ): Promise<MadeCheckpoint | undefined>;
  /** Whether the files were lost with their sandbox, and older ones, or none, are left. */
  isReverted(): Promise<boolean>;
  /** Restores the last checkpoint after that. */
  restoreLast(): Promise<RecoveredWorkspace>;
  /** The blobs that a checkpoint of the run needs; undefined if it cannot be read. */
  blobsOf(checkpoint: Checkpoint): Promise<readonly string[] | undefined>;
}

/** What the worker of the run provides. */
export interface FilesOfRunOptions {
  claim: Claim;
  journal: Pick<Journal, 'sessions' | 'contents' | 'previousTurn' | 'readCheckpoints'>;
  /** Whether the runs of a session continue with each other's files, unless a request says otherwise. */
  sharesSessionFiles: boolean;
  progress(): Progress;
  /** The position of the last known record. */
  lastPos(): number;
  append(records: NewRecord[], options?: AppendOptions): Promise<unknown>;
  signal: AbortSignal;
  draining: AbortSignal;
}

export class FilesOfRun {
  readonly #options: FilesOfRunOptions;
  #restored: RecoveredWorkspace = { kind: 'here' };

  constructor(options: FilesOfRunOptions) {
    this.#options = options;
  }

  get #progress(): Progress {
    return this.#options.progress();
  }

  /** Whether what the run begins with, if anything, is in place. */
  get isPrepared(): boolean {
    return this.#progress.isPrepared || !this.#beginsWithFiles;
  }

  get #beginsWithFiles(): boolean {
    const { request, inheritedFiles } = this.#progress;
    return inheritedFiles !== undefined || hasParts(request?.workspace);
  }

  /** The directory of the operator that the run works in; undefined if it has a workspace of its own. */
  get mounted(): string | undefined {
    const { isPrepared, mounted, request, inheritedFiles } = this.#progress;
    return isPrepared ? mounted : (request?.workspace?.mount ?? inheritedFiles?.mounted);
  }

  /** Records which files of an earlier run this one begins with. The turns of a session come one after the other. */
  async inherit(): Promise<void> {
    const { request, isPrepared, checkpoint, steps } = this.#progress;
    if (isPrepared || checkpoint !== undefined || steps > 0) return;
    if (request?.workspace?.mount !== undefined) return;
    const isFork = request?.forked_from !== undefined;
    const found = isFork ? request.inherited?.files : await this.#filesOfSession();
    if (found === undefined) return;
    // `capture_id` and `stored_bytes` are about the other workspace and the other run, so neither is taken over.
    const { capture_id, ...kept } = found;
    const inherited: Checkpoint = {
      ...kept,
      upto: this.#options.lastPos(),
      origin: 'inherited',
      stored_bytes: 0,
    };
    await this.#options.append([{ event: 'workspace.checkpointed', private: inherited }]);
  }

  /** If lost files were not complete, or the run has not worked with them, `prepare` makes them again: nothing is missing. */
  async recover(workspace: RunWorkspaceFiles, messages: readonly Message[]): Promise<RecoveredWorkspace> {
    // A mounted directory is as its commands left it; `prepare` looks after it.
    if (!this.isPrepared || this.mounted !== undefined) return { kind: 'here' };
    const prepared = this.#beginsWithFiles;
    const { outcomes } = this.#progress;
    const recovered = await workspace.recover(messages, prepared, this.#options.signal);
    const isUsed = outcomes.some((call) => this.isUsedBy(workspace, call));
    const isGone = recovered.kind === 'lost' || recovered.kind === 'reverted';
    if (!isGone || !prepared || isUsed) return recovered;
    // On record: an owner that is lost while it prepares them leaves a part of them here.
    await this.#options.append([{ event: 'workspace.prepared', private: { undone: true } }]);
    return { kind: 'here' };
  }

  isUsedBy(workspace: RunWorkspaceFiles, { tool, toolCallId }: CallOutcome): boolean {
    return workspace.isUsedBy(tool) && !this.#progress.clientCalls.has(toolCallId);
  }

  async prepare(workspace: RunWorkspaceFiles): Promise<void> {
    const { mounted, isPrepared } = this;
    if (mounted !== undefined) await this.#mount(workspace, mounted);
    if (isPrepared) return;
    const { signal, append } = this.#options;
    const setup = this.#progress.request?.workspace;
    if (mounted === undefined) await this.#putInPlace(workspace);
    failpoint('setup.before-record');
    await append([{ event: 'workspace.prepared', private: mounted === undefined ? {} : { mounted } }]);
    failpoint('setup.after-record');
    // The files that are only inherited have a checkpoint already.
    if (hasParts(setup) || mounted !== undefined) await this.keep(workspace, 'prepared', signal);
  }

  async #mount(workspace: RunWorkspaceFiles, directory: string): Promise<void> {
    const { mount, ...parts } = this.#progress.request?.workspace ?? {};
    if (hasParts(parts)) {
      const way = 'nothing can be put into it first; ask for a fresh workspace, or send nothing';
      throw new RunFailure('workspace_setup', `The session works in the directory '${directory}': ${way}`);
    }
    await workspace.mount(directory);
  }

  async #putInPlace(workspace: RunWorkspaceFiles): Promise<void> {
    const { signal, draining } = this.#options;
    const { request, inheritedFiles: inherited } = this.#progress;
    const setup = request?.workspace;
    try {
      await workspace.prepare({ inherited, setup }, AbortSignal.any([signal, draining]));
    } catch (error) {
      // The next owner begins again.
      if (draining.aborted && !signal.aborted && !(error instanceof RunFailure)) throw new Handover();
      throw error;
    }
  }

  /** Appends a checkpoint of the files as they are now. */
  async keep(
    workspace: RunWorkspaceFiles,
    origin: CheckpointOrigin = 'worked',
    signal?: AbortSignal,
  ): Promise<void> {
    const made = await workspace.checkpoint(this.#options.lastPos(), origin, signal);
    if (made !== undefined && !(await this.#isKept(made, workspace))) await this.#record(made);
  }

  /** Keeps, before the run ends, what background processes, clients and calls without an outcome have changed. */
  async keepLast(workspace: RunWorkspaceFiles): Promise<void> {
    const { checkpoint, calls } = this.#progress;
    if (!this.isPrepared || (checkpoint === undefined && calls.length === 0)) return;
    const made = await workspace.checkpoint(this.#options.lastPos(), 'worked');
    if (made !== undefined && !isMissed(made.record)) {
      // No call has ended since the last checkpoint, so the same files need no other record.
      if (made.blobs.length > 0) await this.#record(made);
      return;
    }
    if (made !== undefined && !(await this.#isKept(made, workspace))) await this.#record(made);
    if (await workspace.isReverted()) this.#restored = await workspace.restoreLast();
  }

  /** What `keepLast` restored, for a run that continues after all. A second call returns `here`. */
  takeRestored(): RecoveredWorkspace {
    const restored = this.#restored;
    this.#restored = { kind: 'here' };
    return restored;
  }

  /** Whether a missed checkpoint loses nothing: the files are gone, but the last checkpoint has everything that calls did. */
  async #isKept({ record }: MadeCheckpoint, workspace: RunWorkspaceFiles): Promise<boolean> {
    const { checkpoint, outcomes } = this.#progress;
    if (!isMissed(record) || checkpoint === undefined || !(await workspace.isReverted())) return false;
    return !outcomes.some((call) => call.pos > checkpoint.upto && this.isUsedBy(workspace, call));
  }

  async #record({ record, blobs }: MadeCheckpoint): Promise<void> {
    const { mounted } = this;
    const where = mounted === undefined || isMissed(record) ? record : { ...record, mounted };
    await this.#options.append([{ event: 'workspace.checkpointed', private: where }], { blobs });
    failpoint('checkpoint.after-record');
  }

  /** The files that the session keeps when the run ends; undefined if it keeps those that it has. */
  async forSession(workspace: RunWorkspaceFiles): Promise<KeptSessionFiles | undefined> {
    const { claim, sharesSessionFiles } = this.#options;
    const { request, checkpoint } = this.#progress;
    const isChanged = checkpoint !== undefined && checkpoint.origin !== 'inherited';
    if (!sharesSessionFiles || request?.session_named !== true || !isChanged) return undefined;
    // The run holds the blobs of a checkpoint only once the checkpoint is on record.
    const blobIds = await workspace.blobsOf(checkpoint);
    return blobIds && { files: { run_id: claim.runId, checkpoint }, blobIds };
  }

  async #filesOfSession(): Promise<Checkpoint | undefined> {
    const { claim, journal, sharesSessionFiles } = this.#options;
    const { request } = this.#progress;
    if (!sharesSessionFiles || request === undefined) return undefined;
    const found = await findSessionFiles(journal, claim.run, request);
    return found && this.#take(found);
  }

  /** Undefined if the holder was deleted meanwhile. */
  async #take({ holder: from, checkpoint }: FoundFiles): Promise<Checkpoint | undefined> {
    const { claim, journal } = this.#options;
    const blobIds = await journal.contents.heldBy(from);
    try {
      await journal.contents.hold(
        runHolder(claim.runId),
        blobIds.map((blobId) => ({ blobId, from })),
      );
      return checkpoint;
    } catch (error) {
      if (error instanceof TalariaError && error.code.endsWith('_not_found')) return undefined;
      throw error;
    }
  }
}

/** `fresh` alone brings nothing. */
function hasParts(setup: WorkspaceSetup | undefined): boolean {
  if (setup === undefined) return false;
  const { fresh, ...parts } = setup;
  return Object.keys(parts).length > 0;
}
