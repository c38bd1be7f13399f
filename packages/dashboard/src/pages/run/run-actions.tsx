/** The buttons of a run: stop, start again, fork, keep. */
import { useSignal } from '@preact/signals';
import { isTerminalStatus, type Run } from '@talaria/client';
import { client, noteFailure } from '../../api/session.ts';
import { retryRun } from '../../api/start-run.ts';
import { navigate } from '../../navigation/router.ts';
import { Problem } from '../../ui/problem.tsx';
import { ForkButton } from './fork.tsx';
import { KeepSwitch } from './keep-switch.tsx';
import { useRunView } from './run-view.ts';

export function RunActions({ run, status }: { run: Run; status: Run['status'] }) {
  const { watched, inspecting } = useRunView();
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const act = async (action: () => Promise<void>) => {
    busy.value = true;
    error.value = undefined;
    try {
      await action();
    } catch (failure) {
      noteFailure(failure);
      error.value = failure;
    }
    busy.value = false;
  };
  const stop = async () => {
    await client.peek().runs.stop(run.run_id);
    watched.refresh();
  };
  const retry = async () => {
    navigate(`runs/${await retryRun(client.peek(), run)}`);
  };
  const over = isTerminalStatus(status);
  return (
    <div class="run-actions">
      {!over && (
        <button
          type="button"
          class="bad"
          disabled={busy.value || status === 'stopping'}
          onClick={() => void act(stop)}
        >
          {status === 'stopping' ? 'Stopping…' : 'Stop'}
        </button>
      )}
      {over && run.input !== undefined && (
        <button
          type="button"
          disabled={busy.value}
          title="Start another run with the same prompt"
          onClick={() => void act(retry)}
        >
          Retry
        </button>
      )}
      {!run.evicted && <ForkButton />}
      {!run.evicted && <KeepSwitch run={run} act={act} />}
      {!run.evicted && (
        <button
          type="button"
          class="phone-only"
          aria-expanded={inspecting.value}
          onClick={() => {
            inspecting.value = !inspecting.value;
          }}
        >
          Inspect
        </button>
      )}
      {error.value !== undefined && <Problem error={error.value} />}
    </div>
  );
}
