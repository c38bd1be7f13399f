/** What a person or a program sees of a run that is followed. */
import type { ConnectionChange, Run, RunEvent } from '@talaria/client';
import type { ApprovalPrompt } from '../screen/approval-prompt.ts';

export interface RunView extends Disposable {
  /** Undefined where nobody can be asked. */
  readonly prompt: ApprovalPrompt | undefined;
  show(event: RunEvent): void;
  /** The run has ended, and its stream did not tell. */
  end(run: Run): void;
  /** Something that is not of the run, for the person in front of it. */
  note(text: string): void;
  /** It was told to stop, and has not yet. */
  stopping(): void;
  connection(change: ConnectionChange): void;
}
