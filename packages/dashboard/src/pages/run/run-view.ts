/** What the parts of the run page share: the run that is watched, what is selected, and where to go. */
import { type Signal, signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { changeQuery, href } from '../../navigation/router.ts';
import type { WatchedRun } from './watch-run.ts';

export type Tab = 'call' | 'files' | 'events' | 'run';

/** What the tab of files shows: all of them, what the run changed, or what one step changed. */
export type FilesShown = 'all' | 'run' | 'step';

export interface RunView {
  runId: string;
  watched: WatchedRun;
  tab: Signal<Tab>;
  filesShown: Signal<FilesShown>;
  /** On a phone the inspector covers the transcript while it is open. */
  inspecting: Signal<boolean>;
  callId: Signal<string | undefined>;
  /** Rows that were opened or closed by hand. Rows out of sight are not in the page, so they cannot know. */
  opened: Signal<ReadonlyMap<string, boolean>>;
  /** The dialog for a fork is open: at this event, or at the last one of the run. */
  forking: Signal<{ at: number | undefined } | undefined>;
  /** The event that the reader went to. `at` differs on each visit, so that a second visit is a change. */
  target: Signal<{ seq: number; at: number } | undefined>;
  inspectCall(callId: string): void;
  /** Shows what the step of an event changed. */
  inspectChanges(seq: number): void;
  goTo(seq: number): void;
  /** Leaves the event that the reader went to, and shows the present state again. */
  toNow(): void;
  linkTo(seq: number): string;
}

export function createRunView(runId: string, watched: WatchedRun, event: number | undefined): RunView {
  const tab = signal<Tab>('call');
  const inspecting = signal(false);
  const callId = signal<string | undefined>(undefined);
  const filesShown = signal<FilesShown>('all');
  const target = signal(event === undefined ? undefined : { seq: event, at: 0 });
  const goTo = (seq: number) => {
    target.value = { seq, at: (target.peek()?.at ?? 0) + 1 };
    changeQuery({ event: `${seq}` });
    // The files follow the place in the run, so they stay in sight.
    if (tab.peek() !== 'files') inspecting.value = false;
  };
  return {
    runId,
    watched,
    tab,
    filesShown,
    inspecting,
    callId,
    opened: signal(new Map()),
    forking: signal(undefined),
    target,
    inspectCall(id) {
      callId.value = id;
      tab.value = 'call';
      inspecting.value = true;
    },
    inspectChanges(seq) {
      goTo(seq);
      filesShown.value = 'step';
      tab.value = 'files';
      inspecting.value = true;
    },
    goTo,
    toNow() {
      target.value = undefined;
      changeQuery({ event: undefined });
    },
    linkTo: (seq) => href(`runs/${encodeURIComponent(runId)}?event=${seq}`),
  };
}

export const RunContext = createContext<RunView | undefined>(undefined);

export function useRunView(): RunView {
  const view = useContext(RunContext);
  if (view === undefined) throw new Error('This belongs to the page of a run');
  return view;
}

/** For what shows a row: rows change in place, which their component would not notice. */
export function useRevision(): void {
  useRunView().watched.revision.value;
}
