/**
 * The files of the run, or what changed in them. They are those of the place that the reader went to (the timeline, a link to
 * an event), and otherwise those of now.
 */
import { useEffect, useState } from 'preact/hooks';
import { ForkButton } from '../fork.tsx';
import { type FilesShown, useRunView } from '../run-view.ts';
import type { StepSpan } from '../transcript/rows.ts';
import { Changes } from './changes.tsx';
import { FileTree } from './file-tree.tsx';

/** Whoever drags along the timeline passes many events: the files are asked for where the drag rests. */
const RESTS_MS = 200;

const SHOWN: readonly [FilesShown, string][] = [
  ['all', 'All files'],
  ['run', 'Changes'],
  ['step', 'This step'],
];

export function FilesPanel() {
  const { watched, target, filesShown, toNow } = useRunView();
  watched.revision.value;
  const { lastSeq } = watched.transcript.value;
  const wanted = target.value === undefined || target.value.seq >= lastSeq ? undefined : target.value.seq;
  const at = useResting(wanted);
  const step = watched.transcript.value.stepAt(at ?? lastSeq);
  return (
    <>
      <div class="panel-actions">
        <fieldset class="segments">
          <legend class="visually-hidden">Which files</legend>
          {SHOWN.map(([value, name]) => (
            <button
              type="button"
              key={value}
              aria-pressed={filesShown.value === value}
              onClick={() => {
                filesShown.value = value;
              }}
            >
              {name}
            </button>
          ))}
        </fieldset>
        {at !== undefined && (
          <span class="as-of">
            as of event {at}
            <button type="button" class="small" onClick={toNow}>
              Now
            </button>
            <ForkButton at={at} />
          </span>
        )}
      </div>
      <Shown shown={filesShown.value} at={at} step={step} />
    </>
  );
}

interface ShownProps {
  shown: FilesShown;
  at: number | undefined;
  step: StepSpan | undefined;
}

function Shown({ shown, at, step }: ShownProps) {
  if (shown === 'all') return <FileTree at={at} />;
  if (shown === 'run') return <Changes key="run" to={at} by="The run" />;
  if (step === undefined) return <p class="empty">There is no step yet.</p>;
  const { number, first, last, isOver } = step;
  return (
    <Changes
      key={first}
      from={first - 1}
      // The files of a step are kept at its end: until then there is no later checkpoint.
      to={isOver ? last : undefined}
      by={number === undefined ? 'This step' : `Step ${number}`}
    />
  );
}

function useResting(value: number | undefined): number | undefined {
  const [rests, setRests] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRests(value), RESTS_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return rests;
}
