import type { Static } from 'typebox';
import type { EVENT_PAYLOADS } from './schemas/runs.ts';

type Payloads = typeof EVENT_PAYLOADS;

export type EventName = keyof Payloads;

/** The payload of an event, without the fields that every event has. */
export type EventPayload<N extends EventName = EventName> = Static<Payloads[N]>;

/** An event as it appears in the `data:` line of the stream. */
export type RunEvent = {
  [N in EventName]: { event: N; run_id: string; timestamp: number; seq: number } & Static<Payloads[N]>;
}[EventName];

const TERMINAL_NAMES = ['run.completed', 'run.failed', 'run.cancelled'] as const satisfies EventName[];

export type TerminalEventName = (typeof TERMINAL_NAMES)[number];
export type TerminalEvent = Extract<RunEvent, { event: TerminalEventName }>;

const TERMINAL: ReadonlySet<string> = new Set(TERMINAL_NAMES);

export function isTerminalEvent(name: string): name is TerminalEventName {
  return TERMINAL.has(name);
}
