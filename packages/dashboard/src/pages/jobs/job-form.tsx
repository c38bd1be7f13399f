/** Creates a job or changes one. */
import { type Signal, useSignal } from '@preact/signals';
import type { Job } from '@talaria/client';
import type { ComponentChildren } from 'preact';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';

interface JobFormProps {
  job: Job | undefined;
  onClose: () => void;
  onSaved: () => void;
}

export function JobForm({ job, onClose, onSaved }: JobFormProps) {
  const name = useSignal(job?.name ?? '');
  const schedule = useSignal(job === undefined ? '' : scheduleText(job));
  const timezone = useSignal(job?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const prompt = useSignal(job?.prompt ?? '');
  const times = useSignal(job?.repeat.times?.toString() ?? '');
  const action = useAction();
  const save = async (event: Event) => {
    event.preventDefault();
    const before = job === undefined ? '' : scheduleText(job);
    const fields = {
      name: name.value,
      prompt: prompt.value,
      repeat: times.value === '' ? null : Number(times.value),
      timezone: timezone.value,
    };
    const saved = await action.run((client) =>
      job === undefined
        ? client.jobs.create({ ...fields, schedule: schedule.value })
        : // A duration such as `30m` counts from now: an unchanged schedule is not sent again.
          client.jobs.update(job.id, {
            ...fields,
            ...(schedule.value === before ? {} : { schedule: schedule.value }),
          }),
    );
    if (saved) onSaved();
  };
  return (
    <Dialog title={job === undefined ? 'New job' : `Edit ${job.name}`} onClose={onClose}>
      <form class="fields" onSubmit={(event) => void save(event)}>
        <Field label="Name" value={name} required />
        <Field label="Schedule" value={schedule} required>
          <span class="muted">
            <code>every 30m</code>, <code>0 9 * * 1-5</code>, <code>2h</code>, or a time
          </span>
        </Field>
        <Field label="Time zone" value={timezone} required />
        <label>
          Prompt
          <textarea
            rows={5}
            required
            value={prompt.value}
            onInput={(event) => {
              prompt.value = event.currentTarget.value;
            }}
          />
        </label>
        <Field label="How many times" value={times} numeric>
          <span class="muted">empty: for ever</span>
        </Field>
        {action.error.value !== undefined && <Problem error={action.error.value} />}
        <button type="submit" class="primary" disabled={action.busy.value}>
          {job === undefined ? 'Create the job' : 'Save'}
        </button>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  label: string;
  value: Signal<string>;
  numeric?: boolean;
  required?: boolean;
  children?: ComponentChildren;
}

function Field({ label, value, numeric = false, required = false, children }: FieldProps) {
  return (
    <label>
      {label}
      <input
        inputMode={numeric ? 'numeric' : 'text'}
        required={required}
        pattern={numeric ? '[1-9][0-9]*' : undefined}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
      {children}
    </label>
  );
}

/** As the user would write it. */
function scheduleText({ schedule }: Job): string {
  if (schedule.kind === 'cron') return schedule.expr;
  return schedule.kind === 'interval' ? `every ${schedule.minutes}m` : schedule.run_at;
}
