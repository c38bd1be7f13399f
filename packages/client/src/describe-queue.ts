/** Why a run is not worked on yet, in a few words for people: `3rd in line, all workers are busy`. */
import type { RunQueue } from '@talaria/protocol';

const REASONS: Record<RunQueue['waiting_for'], string> = {
  worker: 'all workers are busy',
  session: 'an earlier run of its session is unfinished',
  recovery: 'it is continued alone after several interruptions',
  server: 'no server works on runs now',
};

export function describeQueue({ position, waiting_for: waitingFor }: RunQueue): string {
  // A later server may know other reasons.
  const reason = REASONS[waitingFor] ?? waitingFor;
  return `${ordinal(position)} in line, ${reason}`;
}

function ordinal(n: number): string {
  const isTeen = n % 100 > 10 && n % 100 < 14;
  return `${n}${(isTeen ? undefined : ['th', 'st', 'nd', 'rd'][n % 10]) ?? 'th'}`;
}
