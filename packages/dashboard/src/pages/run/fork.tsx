/** Starts a run that continues from an event of this one, and shows it. */
import { useSignal } from '@preact/signals';
import { navigate } from '../../navigation/router.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useRunView } from './run-view.ts';

/** `at` is an event; without it, the last one. */
export function ForkButton({ at }: { at?: number }) {
  const { forking } = useRunView();
  return (
    <button
      type="button"
      class={at === undefined ? '' : 'small'}
      title="Start another run that continues from here; this one stays as it is"
      onClick={() => {
        forking.value = { at };
      }}
    >
      {at === undefined ? 'Fork…' : 'Fork from here…'}
    </button>
  );
}

/** Shown once for the page: a button may scroll out of it while the dialog is open. */
export function ForkDialog() {
  const { runId, forking } = useRunView();
  const input = useSignal('');
  const action = useAction();
  const close = () => {
    forking.value = undefined;
    input.value = '';
    action.error.value = undefined;
  };
  if (forking.value === undefined) return null;
  const { at } = forking.value;
  const fork = (event: Event) => {
    event.preventDefault();
    const text = input.value.trim();
    void action.run(async (client) => {
      const params = { at, input: text === '' ? undefined : text };
      const { run_id } = await client.runs.fork(runId, params);
      close();
      navigate(`runs/${run_id}`);
    });
  };
  const submitByKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) fork(event);
  };
  return (
    <Dialog title={at === undefined ? 'Fork the run' : `Fork the run at event ${at}`} onClose={close}>
      <form class="fields" onSubmit={fork}>
        <p class="muted">
          The new run has the conversation and the files as they were{' '}
          {at === undefined ? 'at the end' : 'after this event'}. This run stays as it is.
        </p>
        <label>
          Your next message{' '}
          <span class="muted">(without one the model is asked again; after an answer it is needed)</span>
          <textarea
            rows={4}
            value={input.value}
            onKeyDown={submitByKey}
            onInput={(event) => {
              input.value = event.currentTarget.value;
            }}
          />
        </label>
        {action.error.value !== undefined && <Problem error={action.error.value} />}
        <button type="submit" class="primary" disabled={action.busy.value}>
          Start the fork
        </button>
      </form>
    </Dialog>
  );
}
