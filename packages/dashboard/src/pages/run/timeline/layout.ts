/**
 * Where the phases of a run lie on a line of a given length. Long silences (somebody was asked, no server was there) would
 * squash everything else, so they are folded to a short piece and say how long they were.
 */
import type { Phase, PhaseKind } from './phases.ts';

export interface Placed extends Phase {
  /** From 0 to 1. */
  start: number;
  end: number;
  /** Shown shorter than it was. */
  folded: boolean;
}

/** A silence takes at most this part of the line. */
const SILENCE_MAX = 0.06;
const SILENT: ReadonlySet<PhaseKind> = new Set(['waiting', 'away']);

export function layOut(phases: readonly Phase[]): Placed[] {
  const busy = phases
    .filter(({ kind }) => !SILENT.has(kind))
    .reduce((sum, phase) => sum + lengthOf(phase), 0);
  const silences = phases.filter(({ kind }) => SILENT.has(kind)).length;
  const limit =
    Math.max((busy || 1) * SILENCE_MAX, busy === 0 ? Number.POSITIVE_INFINITY : 0) /
    Math.max(1, silences / 8);
  const shown = phases.map((phase) => {
    const length = lengthOf(phase);
    const folded = SILENT.has(phase.kind) && length > limit;
    return { phase, folded, length: folded ? limit : length };
  });
  const total = shown.reduce((sum, { length }) => sum + length, 0) || 1;
  let at = 0;
  return shown.map(({ phase, folded, length }) => {
    const start = at / total;
    at += length;
    return { ...phase, folded, start, end: at / total };
  });
}

/** The event at a place of the line. */
export function seqAt(placed: readonly Placed[], place: number): number {
  const phase = placed.find(({ end }) => place <= end) ?? placed.at(-1);
  if (phase === undefined) return 0;
  const { start, end, first, last } = phase;
  const share = end === start ? 0 : Math.min(1, Math.max(0, (place - start) / (end - start)));
  return Math.round(first + share * (last - first));
}

/** The place of an event on the line. */
export function placeOf(placed: readonly Placed[], seq: number): number {
  const phase = placed.find(({ last }) => seq <= last) ?? placed.at(-1);
  if (phase === undefined) return 0;
  const { start, end, first, last } = phase;
  const share = last === first ? 1 : Math.min(1, Math.max(0, (seq - first) / (last - first)));
  return start + share * (end - start);
}

function lengthOf({ from, to }: Phase): number {
  return Math.max(0, to - from);
}
