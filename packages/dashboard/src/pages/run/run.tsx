/** One run: its head, its timeline, its transcript, and an inspector for what the transcript has no room for. */
import { useEffect, useMemo } from 'preact/hooks';
import { heads } from '../../api/live/live.ts';
import { client } from '../../api/session.ts';
import { place } from '../../navigation/router.ts';
import { Problem } from '../../ui/problem.tsx';
import { ForkDialog } from './fork.tsx';
import { Gone, GoneMeanwhile } from './gone.tsx';
import { Inspector } from './inspector/inspector.tsx';
import { RunHeader } from './run-header.tsx';
import { createRunView, RunContext, type RunView } from './run-view.ts';
import { Steer } from './steer.tsx';
import { Timeline } from './timeline/timeline.tsx';
import { TranscriptView } from './transcript-view.tsx';
import { useStepKeys } from './use-step-keys.ts';
import { statusOf, watchRun } from './watch-run.ts';
import './run.css';

export function RunPage({ runId }: { runId: string }) {
  const user = client.value;
  const view = useMemo(
    () => createRunView(runId, watchRun(user, runId), eventOf(place.peek().query)),
    [user, runId],
  );
  useEffect(() => view.watched.stop, [view]);
  useStepKeys(view);
  return (
    <RunContext.Provider value={view}>
      <main class={`run ${view.inspecting.value ? 'inspecting' : ''}`}>
        <Content view={view} />
      </main>
    </RunContext.Provider>
  );
}

function Content({ view }: { view: RunView }) {
  const { run, error, retry, transcript, revision } = view.watched;
  revision.value;
  const head = run.value;
  if (head === undefined) {
    if (error.value !== undefined) return <Problem error={error.value} retry={retry} />;
    return <p class="muted run-loading">Loading…</p>;
  }
  const isRead = transcript.value.events.length > 0;
  if (head.evicted && !isRead)
    return (
      <>
        <RunHeader run={head} />
        <Gone run={head} />
      </>
    );
  return (
    <>
      <RunHeader run={head} />
      {heads.value.get(view.runId)?.evicted && <GoneMeanwhile />}
      {error.value !== undefined && <Problem error={error.value} retry={retry} />}
      <Timeline />
      <div class="run-body">
        <TranscriptView />
        <Inspector />
      </div>
      <Steer status={statusOf(head, transcript.value)} />
      <ForkDialog />
    </>
  );
}

function eventOf(query: URLSearchParams): number | undefined {
  const event = query.get('event') ?? '';
  return /^\d{1,15}$/.test(event) ? Number(event) : undefined;
}
