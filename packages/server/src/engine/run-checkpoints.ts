/** The checkpoints of one run, for the owner of the run. */
import { TalariaError } from '@talaria/protocol';
import type { CheckpointFiles, Checkpoints } from '../checkpoints/checkpoint-tree.ts';
import type { StoredRun } from '../journal/run-state.ts';

/** Stands for the files that a run begins with: they contain the effects of no event. */
const BEFORE_ALL_EVENTS = -1;

export class RunCheckpoints {
  readonly #run: Pick<StoredRun, 'runId' | 'nextSeq'>;
  readonly #checkpoints: Checkpoints;

  constructor(run: Pick<StoredRun, 'runId' | 'nextSeq'>, checkpoints: Checkpoints | undefined) {
    if (checkpoints === undefined) {
      throw new TalariaError('checkpoint_gone', { message: 'This server keeps no checkpoints of files' });
    }
    this.#run = run;
    this.#checkpoints = checkpoints;
  }

  /** `param` is what the client calls this event. */
  async at(seq: number, param: string): Promise<CheckpointFiles> {
    const { runId, nextSeq } = this.#run;
    if (seq >= nextSeq) {
      const message = `'${param}' is ${seq}, and the last event of the run is ${nextSeq - 1}`;
      throw new TalariaError('invalid_cursor', { message, param });
    }
    return seq === BEFORE_ALL_EVENTS ? this.first() : this.#checkpoints.at(runId, seq);
  }

  /** The files that the run began with. */
  first(): Promise<CheckpointFiles> {
    return this.#checkpoints.start(this.#run.runId);
  }

  last(): Promise<CheckpointFiles> {
    return this.#checkpoints.at(this.#run.runId);
  }
}
