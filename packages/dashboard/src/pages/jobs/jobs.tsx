/** Runs on a schedule: when they come next, how the last one ended, and everything that can be done with them. */
import { useSignal } from '@preact/signals';
import type { Job, Talaria } from '@talaria/client';
import { useResource } from '../../api/resource.ts';
import { moment } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { firingsOf, inZone } from './firings.ts';
import { JobForm } from './job-form.tsx';
import './jobs.css';

export function JobsPage() {
  const jobs = useResource((client, signal) => client.jobs.list({ include_disabled: true }, { signal }), []);
  const editing = useSignal<Job | 'new' | undefined>(undefined);
  const close = () => {
    editing.value = undefined;
  };
  return (
    <main>
      <div class="page-head">
        <h1>Jobs</h1>
        <button
          type="button"
          class="primary"
          onClick={() => {
            editing.value = 'new';
          }}
        >
          New job
        </button>
      </div>
      <Loading of={jobs}>
        {(all) =>
          all.length === 0 ? (
            <p class="empty">There is no job yet.</p>
          ) : (
            all.map((job) => (
              <JobCard
                key={job.id}
                job={job}
                onChanged={jobs.reload}
                onEdit={() => {
                  editing.value = job;
                }}
              />
            ))
          )
        }
      </Loading>
      {editing.value !== undefined && (
        <JobForm
          job={editing.value === 'new' ? undefined : editing.value}
          onClose={close}
          onSaved={() => {
            close();
            jobs.reload();
          }}
        />
      )}
    </main>
  );
}

interface JobCardProps {
  job: Job;
  onChanged: () => void;
  onEdit: () => void;
}

function JobCard({ job, onChanged, onEdit }: JobCardProps) {
  const action = useAction();
  const sure = useSignal(false);
  const act = async (what: (client: Talaria) => Promise<unknown>) => {
    if (await action.run(what)) onChanged();
  };
  const firings = firingsOf(job);
  const button = (name: string, what: (client: Talaria) => Promise<unknown>, kind?: string) => (
    <button type="button" class={kind} disabled={action.busy.value} onClick={() => void act(what)}>
      {name}
    </button>
  );
  return (
    <article class="job" aria-labelledby={`job-${job.id}`} data-job={job.id}>
      <div>
        <h2 id={`job-${job.id}`}>
          <VisibleText text={job.name} /> {!job.enabled && <span class="tag">paused</span>}
        </h2>
        <p class="when">
          <code>{job.schedule_display}</code>
          {job.timezone !== undefined && <span class="muted"> in {job.timezone}</span>}
        </p>
        <p class="prompt muted">
          <VisibleText text={job.prompt} />
        </p>
        <LastRun job={job} />
      </div>
      {firings.length > 0 && (
        <div>
          <h3>Next</h3>
          <ol class="firings">
            {firings.map((at) => (
              <li key={at}>
                <time dateTime={new Date(at).toISOString()}>{inZone(at, job.timezone)}</time>
              </li>
            ))}
          </ol>
        </div>
      )}
      {action.error.value !== undefined && <Problem error={action.error.value} />}
      <div class="in-line">
        {button('Run now', (client) => client.jobs.run(job.id))}
        {job.enabled
          ? button('Pause', (client) => client.jobs.pause(job.id))
          : button('Resume', (client) => client.jobs.resume(job.id))}
        <button type="button" onClick={onEdit}>
          Edit
        </button>
        {sure.value ? (
          button('Really delete', (client) => client.jobs.delete(job.id), 'bad')
        ) : (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              sure.value = true;
            }}
          >
            Delete…
          </button>
        )}
        <a href={`./?job=${job.id}`}>All runs of it</a>
      </div>
    </article>
  );
}

const OUTCOMES = { ok: 'succeeded', error: 'failed' };

function LastRun({ job }: { job: Job }) {
  if (job.last_run_at === null) return <p class="muted">It has not run yet.</p>;
  const when = moment(Date.parse(job.last_run_at) / 1000);
  const outcome = job.last_status === null ? 'started' : OUTCOMES[job.last_status];
  return (
    <p>
      Last run {outcome}, {when}
      {job.last_run_id && (
        <>
          {' '}
          <a href={`./runs/${encodeURIComponent(job.last_run_id)}`}>show it</a>
        </>
      )}
      {job.last_error !== null && (
        <span class="bad">
          {' '}
          <VisibleText text={job.last_error} />
        </span>
      )}
    </p>
  );
}
