/** The workspace of a claimed run in this server's sandbox: how the files of the run get there, and how they are kept. */
import type { ToolExecutor, TrajectoryWorkspaces } from '@talaria/sandbox';
import { RunFailure } from '../agent/agent-run.ts';
import type { RecoveredWorkspace } from '../agent/tools/recovered-workspace.ts';
import type { Log } from '../basics/log.ts';
import type { CheckpointMaker, MadeCheckpoint } from '../checkpoints/checkpoint-maker.ts';
import type { LostSlots } from '../checkpoints/lost-slots.ts';
import type { FirstFiles, RunWorkspaceFiles } from '../engine/run-files.ts';
import type { Checkpoint, CheckpointOrigin } from '../journal/checkpoints.ts';
import type { Claim } from '../journal/journal.ts';
import type { Message } from '../journal/messages.ts';
import type { RunWorkspace } from '../peers/run-workspace.ts';
import type { DirectoryMounts } from '../setup/directory-mounts.ts';
import type { RunCommand } from '../setup/git/clone.ts';
import type { WorkspacePreparer } from '../setup/workspace-preparer.ts';

export interface SandboxWorkspaceOptions {
  claim: Claim;
  place: RunWorkspace;
  workspaces: TrajectoryWorkspaces;
  executor: ToolExecutor;
  preparer: WorkspacePreparer;
  mounts: DirectoryMounts;
  /** Undefined if none are made. */
  checkpoints: CheckpointMaker | undefined;
  lostSlots: LostSlots;
  /** Whether the tool with this name works on files. */
  isUsedBy(tool: string): boolean;
  /** False once this server has claimed the run again: then the workspace is that of the new claim. */
  isCurrent(): boolean;
  isUnfinished(runId: string): Promise<boolean>;
  log: Log;
}

export class SandboxWorkspace implements RunWorkspaceFiles {
  readonly #options: SandboxWorkspaceOptions;
  readonly #runId: string;

  constructor(options: SandboxWorkspaceOptions) {
    this.#options = options;
    this.#runId = options.claim.runId;
  }

  isUsedBy(tool: string): boolean {
    return this.#options.isUsedBy(tool);
  }

  async prepare({ inherited, setup = {} }: FirstFiles, signal: AbortSignal): Promise<void> {
    const { claim, place, executor, preparer } = this.#options;
    place.isPreparing = true;
    await place.place();
    await executor.release(this.#runId);
    try {
      await preparer.prepare({
        runId: this.#runId,
        owner: claim.run.owner,
        setup,
        inherit: inherited && (() => this.#inherit(inherited, signal)),
        run: this.#run,
        signal,
      });
    } catch (error) {
      await this.#clear();
      throw error;
    }
    place.isPreparing = false;
  }

  async mount(directory: string): Promise<void> {
    const { claim, place, executor, mounts, isUnfinished } = this.#options;
    place.isPreparing = true;
    await executor.release(this.#runId);
    await mounts.mount(directory, { runId: this.#runId, owner: claim.run.owner, isUnfinished });
    place.isPreparing = false;
  }

  async recover(
    conversation: readonly Message[],
    prepared: boolean,
    signal: AbortSignal,
  ): Promise<RecoveredWorkspace> {
    const { place, workspaces, checkpoints } = this.#options;
    const used =
      prepared ||
      conversation.some(
        (message) => message.role === 'tool' && !message.is_error && this.isUsedBy(message.tool),
      );
    const found = await place.find(used);
    const lost = found === 'reverted' ? 'sandbox' : 'machine';
    // A workspace that is neither here nor missed was to be restored by an owner that did not get that far.
    if (found === 'reverted' || (await workspaces.open(this.#runId)) === undefined) {
      const restored = await checkpoints?.restoreLast(signal);
      if (restored !== undefined) return { kind: 'restored', lost, ...restored };
    }
    return { kind: found };
  }

  async checkpoint(
    upto: number,
    origin: CheckpointOrigin,
    signal?: AbortSignal,
  ): Promise<MadeCheckpoint | undefined> {
    return this.#options.checkpoints?.make(upto, origin, signal);
  }

  isReverted(): Promise<boolean> {
    return this.#options.workspaces.isReverted(this.#runId);
  }

  restoreLast(): Promise<RecoveredWorkspace> {
    return this.#options.lostSlots.restore();
  }

  async blobsOf(checkpoint: Checkpoint): Promise<string[] | undefined> {
    return this.#options.checkpoints?.blobsOf(checkpoint);
  }

  async #inherit(inherited: Checkpoint, signal: AbortSignal): Promise<void> {
    const restored = await this.#options.checkpoints?.restore(inherited, signal);
    if (restored !== undefined) return;
    throw new RunFailure(
      'workspace_setup',
      'The files that the run was to continue with could not be restored',
    );
  }

  readonly #run: RunCommand = (command, env, { timeoutS, signal }) => {
    const { executor } = this.#options;
    return executor.execute(this.#runId, 'bash', { command, env, timeout: timeoutS }, { timeoutS, signal });
  };

  /** Half of what a run should begin with must not look like the work of the run. */
  async #clear(): Promise<void> {
    const { executor, workspaces, isCurrent, log } = this.#options;
    const runId = this.#runId;
    try {
      if (isCurrent()) await executor.release(runId);
      if (isCurrent()) await workspaces.discard(runId);
    } catch (error) {
      log.warn({ runId, err: error }, 'a workspace that was not completely prepared could not be deleted');
    }
  }
}
