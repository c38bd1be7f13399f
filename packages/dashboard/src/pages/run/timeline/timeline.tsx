/** The whole run on one line: when the model worked, when tools did, when it waited. A place on it leads to its event. */
import { useMemo } from 'preact/hooks';
import { useRunView } from '../run-view.ts';
import { seconds } from '../seconds.ts';
import { layOut, type Placed, placeOf, seqAt } from './layout.ts';
import type { PhaseKind } from './phases.ts';

/** Units of the drawing; its size is up to the style. */
const WIDTH = 1000;
const HEIGHT = 20;

const KINDS: readonly PhaseKind[] = ['model', 'tool', 'waiting', 'away'];
const NAMES: Record<PhaseKind, string> = {
  model: 'model',
  tool: 'tools',
  waiting: 'waiting',
  away: 'server away',
};

/** Folded silences that are named; more would cover each other. */
const NAMED_MAX = 6;

export function Timeline() {
  const { watched, goTo, target } = useRunView();
  const { transcript, revision } = watched;
  const { phases, lastSeq } = transcript.value;
  const placed = useMemo(() => layOut(phases.list), [phases, revision.value]);
  if (placed.length === 0) return null;
  const seq = Math.min(target.value?.seq ?? lastSeq, lastSeq);
  const folded = placed.filter((phase) => phase.folded);
  const told = `event ${seq} of ${lastSeq}`;
  return (
    <div class="timeline">
      <div class="line">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {KINDS.map((kind) => (
            <path key={kind} class={kind} d={pathOf(placed, kind)} />
          ))}
          <path class="cursor" d={`M${placeOf(placed, seq) * WIDTH} 0v${HEIGHT}`} />
        </svg>
        <input
          type="range"
          min="0"
          max={WIDTH}
          aria-label="Place in the run"
          aria-valuetext={told}
          value={Math.round(placeOf(placed, seq) * WIDTH)}
          onInput={({ currentTarget }) => goTo(seqAt(placed, Number(currentTarget.value) / WIDTH))}
        />
      </div>
      <p class="legend muted">
        {KINDS.filter((kind) => placed.some((phase) => phase.kind === kind)).map((kind) => (
          <span key={kind}>
            <i class={kind} aria-hidden="true" /> {NAMES[kind]} {seconds(timeOf(placed, kind))}
          </span>
        ))}
        {folded.slice(0, NAMED_MAX).map((phase) => (
          <span key={phase.first}>
            ‖ {seconds(phase.to - phase.from)} {NAMES[phase.kind]} ‖
          </span>
        ))}
        <span class="place">
          {told} · <kbd>,</kbd> <kbd>.</kbd> step
        </span>
      </p>
    </div>
  );
}

/** All phases of a kind are one path: a long run has thousands. */
function pathOf(placed: readonly Placed[], kind: PhaseKind): string {
  return placed
    .filter((phase) => phase.kind === kind && phase.end > phase.start)
    .map(({ start, end }) => `M${at(start)} 0H${at(end)}V${HEIGHT}H${at(start)}Z`)
    .join('');
}

function at(place: number): string {
  return (place * WIDTH).toFixed(1);
}

function timeOf(placed: readonly Placed[], kind: PhaseKind): number {
  return placed.filter((phase) => phase.kind === kind).reduce((sum, { from, to }) => sum + to - from, 0);
}
