/** What a person or a program sees of a followed run. */
import type { ConnectionChange, Run, RunEvent, RunQueue } from '@talaria/client';
import type { ApprovalPrompt } from '../screen/approval-prompt.ts';

export interface RunView extends Disposable {
  /** Undefined if nobody can be asked. */
  readonly prompt: ApprovalPrompt | undefined;
  /** When the run was created, in seconds; only for a view that shows how long a run took. */
  created?(at: number): void;
  /** The run waits for a worker, until its next event. */
  queued?(queue: RunQueue): void;
  show(event: RunEvent): void;
  /** The run has ended, and its stream did not say so. */
  end(run: Run): void;
  /** A message to the person that is not from the run. */
  note(text: string): void;
  /** It was told to stop, and has not stopped yet. */
  stopping(): void;
  connection(change: ConnectionChange): void;
}
