/** A run of the evidence with what the servers say about it: what most rules look at. */
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import type { CallEvidence, Disruption, Evidence, RunEvidence } from '../evidence.ts';
import type { Observation, ObservedRun } from './observation.ts';

/** Whose call has left its file when it completes. */
export const LEAVES_FILE: readonly string[] = ['plain', 'slow', 'approved', 'write'];

export type EventNamed<N extends RunEvent['event']> = Extract<RunEvent, { event: N }>;

export interface KnownRun {
  id: string;
  evidence: RunEvidence;
  observed: ObservedRun | undefined;
  /** As the first server tells them. */
  events: RunEvent[];
  /** The terminal event that it ends with. */
  end: RunEvent | undefined;
}

export function knownRuns({ runs }: Evidence, { runs: observed }: Observation): KnownRun[] {
  return runs.flatMap((evidence) => {
    const [id] = evidence.ids;
    if (id === undefined) return [];
    const events = (observed[id]?.reads[0]?.data ?? []).map((data) => JSON.parse(data) as RunEvent);
    const last = events.at(-1);
    const end = last !== undefined && isTerminalEvent(last.event) ? last : undefined;
    return [{ id, evidence, observed: observed[id], events, end }];
  });
}

/** A run that was claimed so often in vain may be what kills its servers; it fails then. */
const DEATHS_OF_RECOVERY_LIMIT = 5;

export function mayFail(end: RunEvent, createdAt: number, disruptions: readonly Disruption[]): boolean {
  if (end.event !== 'run.failed' || end.error_code !== 'recovery_limit') return false;
  const deaths = disruptions.filter(({ from, to }) => to >= createdAt && from <= end.timestamp);
  return deaths.length >= DEATHS_OF_RECOVERY_LIMIT;
}

export function named<N extends RunEvent['event']>(events: readonly RunEvent[], name: N): EventNamed<N>[] {
  return events.filter((event): event is EventNamed<N> => event.event === name);
}

export interface MadeCall {
  call: CallEvidence;
  started: EventNamed<'tool.started'>[];
  completed: EventNamed<'tool.completed'>[];
}

/** Each planned call with its events, however many there are. */
export function madeCalls(calls: readonly CallEvidence[], events: readonly RunEvent[]): MadeCall[] {
  const started = named(events, 'tool.started');
  const completed = named(events, 'tool.completed');
  return calls.map((call) => {
    const begun = started.filter((event) => belongsTo(call.mark, JSON.stringify(event.arguments)));
    const ids = new Set(begun.map(({ tool_call_id }) => tool_call_id));
    return { call, started: begun, completed: completed.filter(({ tool_call_id }) => ids.has(tool_call_id)) };
  });
}

/** A mark may be the beginning of another. */
function belongsTo(mark: string, text: string): boolean {
  return new RegExp(`${mark}(?!\\d)`).test(text);
}

/** Whether the run says that what was done up to `seq` may be missing. */
export function saysMissing(events: readonly RunEvent[], seq: number): boolean {
  return events.some(
    (event) =>
      (event.event === 'run.resumed' || event.event === 'tool.completed') &&
      event.seq >= seq &&
      (event.workspace_lost === true || (event.workspace_as_of_seq ?? Number.POSITIVE_INFINITY) < seq),
  );
}
