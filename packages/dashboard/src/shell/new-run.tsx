/** Starts a run, and shows it. */
import { useSignal } from '@preact/signals';
import { client, noteFailure } from '../api/session.ts';
import { startRun } from '../api/start-run.ts';
import { hide } from '../navigation/overlays.ts';
import { navigate } from '../navigation/router.ts';
import { Attachments } from '../ui/attachments.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';

export function NewRun() {
  const input = useSignal('');
  const session = useSignal('');
  const files = useSignal<readonly File[]>([]);
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const start = async (event: Event) => {
    event.preventDefault();
    if (busy.value || input.value.trim() === '') return;
    busy.value = true;
    error.value = undefined;
    try {
      const runId = await startRun(
        client.peek(),
        { text: input.value, files: files.value },
        session.value.trim() || undefined,
      );
      hide();
      navigate(`runs/${runId}`);
    } catch (failure) {
      noteFailure(failure);
      error.value = failure;
    } finally {
      busy.value = false;
    }
  };
  const submitByKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void start(event);
  };
  return (
    <Dialog title="New run" onClose={hide}>
      <form class="fields" onSubmit={(event) => void start(event)}>
        <label>
          Prompt
          <textarea
            rows={6}
            required
            value={input.value}
            onKeyDown={submitByKey}
            onInput={(event) => {
              input.value = event.currentTarget.value;
            }}
          />
        </label>
        <label>
          Session <span class="muted">(optional: continues its conversation)</span>
          <input
            value={session.value}
            onInput={(event) => {
              session.value = event.currentTarget.value;
            }}
          />
        </label>
        {error.value !== undefined && <Problem error={error.value} />}
        <div class="in-line">
          <button type="submit" class="primary" disabled={busy.value}>
            Start the run
          </button>
          <Attachments files={files} />
        </div>
      </form>
    </Dialog>
  );
}
