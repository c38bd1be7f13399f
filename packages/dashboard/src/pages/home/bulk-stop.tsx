/** Stops the chosen runs, after a question that names them: the filter may have changed since they were chosen. */
import { useSignal } from '@preact/signals';
import type { Run } from '@talaria/client';
import { client, noteFailure } from '../../api/session.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { describe } from '../../ui/problem.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';

interface BulkStopProps {
  runs: readonly Run[];
  onDone: () => void;
}

export function BulkStop({ runs, onDone }: BulkStopProps) {
  const asking = useSignal(false);
  const failures = useSignal<readonly string[]>([]);
  const stop = async () => {
    const outcomes = await Promise.allSettled(runs.map((run) => client.peek().runs.stop(run.run_id)));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    for (const { reason } of failed) noteFailure(reason);
    failures.value = failed.map(({ reason }) => describe(reason));
    if (failed.length > 0) return;
    asking.value = false;
    onDone();
  };
  if (runs.length === 0) return null;
  return (
    <div class="bulk">
      {runs.length} chosen
      <button
        type="button"
        class="bad"
        onClick={() => {
          asking.value = true;
        }}
      >
        Stop {runs.length === 1 ? 'it' : 'them'}…
      </button>
      <button type="button" class="quiet" onClick={onDone}>
        Choose none
      </button>
      {asking.value && (
        <Dialog
          title={runs.length === 1 ? 'Stop this run?' : `Stop these ${runs.length} runs?`}
          onClose={() => {
            asking.value = false;
          }}
        >
          <ul class="named">
            {runs.map((run) => (
              <li key={run.run_id}>
                <VisibleText text={run.input || run.run_id} />
              </li>
            ))}
          </ul>
          {failures.value.map((failure) => (
            <p class="problem" role="alert" key={failure}>
              {failure}
            </p>
          ))}
          <button type="button" class="bad" onClick={() => void stop()}>
            Stop {runs.length === 1 ? 'the run' : `${runs.length} runs`}
          </button>
        </Dialog>
      )}
    </div>
  );
}
