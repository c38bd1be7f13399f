/** What the transcript shows, one row under another, in the order of their events. */
import type { RunEvent } from '@talaria/client';
import type { Block } from './text-blocks.ts';

export type EventOf<Name extends RunEvent['event']> = Extract<RunEvent, { event: Name }>;

interface RowOfEvent {
  /** The same for the same row in every fold of the run. */
  key: string;
  /** The event that began it. */
  seq: number;
  /** Seconds since the epoch. */
  at: number;
}

/** What the server reports when a step is complete. Servers of earlier versions do not report it. */
type StepFacts = Partial<Pick<EventOf<'step.completed'>, 'duration' | 'usage' | 'finish_reason'>>;

/** The head of a step. */
export interface StepRow extends RowOfEvent {
  kind: 'step';
  /** Unknown where the events before it were not read. */
  number: number | undefined;
  facts: StepFacts;
  /** The server was restarted in the middle of it, and the model began it anew. */
  cutOff: boolean;
}

/** The events of a step. */
export interface StepSpan {
  number: number | undefined;
  first: number;
  /** Its last event so far. */
  last: number;
  isOver: boolean;
}

export interface ReasoningRow extends RowOfEvent {
  kind: 'reasoning';
  text: string;
  taken: boolean;
}

export interface TextRow extends RowOfEvent {
  kind: 'text';
  block: Block;
  /** Taken back: the model said it again after a restart. */
  taken: boolean;
}

export interface ToolRow extends RowOfEvent {
  kind: 'tool';
  started: EventOf<'tool.started'>;
  completed?: EventOf<'tool.completed'>;
}

export interface ApprovalRow extends RowOfEvent {
  kind: 'approval';
  request: EventOf<'approval.request'>;
  answer?: EventOf<'approval.responded'>;
}

export interface NoteRow extends RowOfEvent {
  kind: 'note';
  event: EventOf<'run.steered' | 'run.resumed' | 'run.waiting'>;
}

export interface EndRow extends RowOfEvent {
  kind: 'end';
  event: EventOf<'run.completed' | 'run.failed' | 'run.cancelled'>;
}

export type Row = StepRow | ReasoningRow | TextRow | ToolRow | ApprovalRow | NoteRow | EndRow;
