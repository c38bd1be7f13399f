/** What the run is and how far it is. The connection of this page stands apart: it says nothing about the run. */
import { describeQueue, type ForkedFrom, isTerminalStatus, type Run } from '@talaria/client';
import { href } from '../../navigation/router.ts';
import { now } from '../../ui/clock.ts';
import { count, duration, moment, money } from '../../ui/format.ts';
import { Status } from '../../ui/status.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { RunActions } from './run-actions.tsx';
import { useRunView } from './run-view.ts';
import { type Link, statusOf } from './watch-run.ts';

const TITLE_CHARACTERS = 120;

const LINKS: Record<Link, [word: string, kind: string]> = {
  connecting: ['connecting…', 'muted'],
  live: ['live', 'good'],
  asking: ['updated every 2 s', 'good'],
  lost: ['connection lost, reconnecting… The run continues on the server', 'warn'],
  asleep: ['paused while this page was hidden', 'muted'],
  ended: ['all events read', 'muted'],
  evicted: ['its events are deleted', 'muted'],
  failed: ['not connected', 'bad'],
};

export function RunHeader({ run }: { run: Run }) {
  const { watched } = useRunView();
  const { transcript, revision, link } = watched;
  revision.value;
  const model = transcript.value;
  const status = statusOf(run, model);
  const [word, kind] = LINKS[link.value];
  return (
    <header class="run-head">
      <a class="back" href="./" aria-label="All runs">
        ‹
      </a>
      <h1 dir="auto">
        <VisibleText text={titleOf(run)} />
      </h1>
      <p class="run-facts">
        <Status status={status} />
        <Queue run={run} status={status} />
        <span>{duration(timeOf(run, status))}</span>
        <Steps run={run} seen={model.steps} />
        <Tokens run={run} />
        {run.cost !== undefined && <span>{money(run.cost)}</span>}
        {run.expires_at !== undefined && <span>kept until {moment(run.expires_at)}</span>}
        {run.keep && <span>kept until you take that back</span>}
        {run.forked_from !== undefined && <Origin from={run.forked_from} />}
        <span class={`link ${kind}`} role="status">
          <span class="visually-hidden">This page: </span>
          {word}
        </span>
      </p>
      <RunActions run={run} status={status} />
    </header>
  );
}

/** The head is asked for again while it has a place in the queue, so the reason is never older than a few seconds. */
function Queue({ run: { queue }, status }: { run: Run; status: Run['status'] }) {
  const mayWait = status === 'started' || status === 'running';
  return queue === undefined || !mayWait ? null : <span>{describeQueue(queue)}</span>;
}

function titleOf({ input, run_id }: Run): string {
  const line = (input ?? '').trim().split('\n')[0]!;
  if (line === '') return run_id;
  return line.length > TITLE_CHARACTERS ? `${line.slice(0, TITLE_CHARACTERS)}…` : line;
}

function timeOf({ created_at, updated_at }: Run, status: Run['status']): number {
  return (isTerminalStatus(status) ? updated_at : now.value) - created_at;
}

function Steps({ run, seen }: { run: Run; seen: number }) {
  const steps = Math.max(run.steps ?? 0, seen);
  return steps === 0 ? null : <span>step {steps}</span>;
}

function Tokens({ run }: { run: Run }) {
  const total = (run.usage ?? run.usage_so_far)?.total_tokens;
  return total === undefined ? null : <span>{count(total)} tokens</span>;
}

function Origin({ from: { run_id, seq } }: { from: ForkedFrom }) {
  const event = seq === null ? '' : `?event=${seq}`;
  return <a href={href(`runs/${encodeURIComponent(run_id)}${event}`)}>fork of another run</a>;
}
