/**
 * Sessions: what was said under one name, turn after turn. The transcript outlives the runs it came from.
 *
 * Invariants
 * - A session belongs to one owner. The same name under another owner is another session.
 * - It is there once somebody created it, or a run was created with its name (`session_named`), or a fork made it,
 *   until it is deleted or unused for too long. A run nobody named a session for leaves none.
 * - Its messages are counted by `pos` from 0 without gaps, and never change.
 * - A turn joins in the transaction of the record that completes its run (`AppendOptions.turn`): it stands in the
 *   transcript once, or not at all.
 * - What the next run is given as its context are the messages from `contextFrom` to `nextPos`. `contextFrom` only grows.
 * - A session of which a run is unfinished is neither deleted nor swept: what a run was given to read stays readable
 *   for it.
 * - What is said about it (title, flags, why it ended) changes neither its place in the list nor when it was last used.
 *   A run that is created in a session that was ended opens it again.
 * - With a session its runs stop being anyone's previous turn, and what was granted for it is granted no more: a later
 *   session of that name knows nothing of it.
 */
import type { Usage } from '@talaria/protocol';
import type { Message } from './messages.ts';
import type { ContextRange } from './records.ts';

/** What a run adds to its session. */
export interface Turn {
  messages: readonly Message[];
  /** The client gave the history itself: what the session held before is no context any more. */
  replaces: boolean;
  /** What the run has spent. */
  usage?: Usage;
}

/** Of a session whose creator names none: the part of Hermes that serves such clients. */
export const DEFAULT_SOURCE = 'api_server';

/** What may be marked in a session. */
export const SESSION_FLAGS = ['pinned', 'archived', 'hidden', 'unread'] as const;
export type SessionFlag = (typeof SESSION_FLAGS)[number];

/** Times in ms. A count is null where it is not known: of a session that is older than the counting. */
export interface StoredSession extends Record<SessionFlag, boolean> {
  sessionId: string;
  createdAt: number;
  /** When a run was last created in it, or a turn joined. */
  usedAt: number;
  /** How many messages there are; the `pos` the next one will get. */
  nextPos: number;
  contextFrom: number;
  turns: number;
  /** The last run that was created in it; null for a fork nobody has used yet. */
  lastRunId: string | null;
  /** The name of the session it was forked from, which may be gone. */
  forkedFrom: string | null;
  title: string | null;
  /** What every run in it is told, before its own instructions. */
  systemPrompt: string | null;
  /** What made it, and the model it is for, in the words of whoever created it. */
  source: string | null;
  model: string | null;
  /** The beginning of the first message of a user. */
  preview: string | null;
  endedAt: number | null;
  endReason: string | null;
  toolCalls: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
}

export interface NewSession {
  owner: string;
  sessionId: string;
  title: string | null;
  systemPrompt: string | null;
  source: string | null;
  model: string | null;
}

/** What is not named stays. */
export interface SessionChange extends Partial<Record<SessionFlag, boolean>> {
  title?: string | null;
  /** Ends the session now; null opens it again. */
  endReason?: string | null;
}

export interface StoredMessage {
  pos: number;
  runId: string;
  at: number;
  message: Message;
}

export interface SessionFilter {
  owner: string;
  /** The `next` of the page before; rejects with `invalid_cursor` when it is none of this owner's. */
  after?: string | undefined;
  /** How many to leave out, from there on. */
  offset?: number | undefined;
  limit: number;
  source?: string | undefined;
  title?: string | undefined;
  /** Without it, those that are marked as hidden are left out. */
  includeHidden?: boolean | undefined;
}

export interface SessionPage {
  sessions: StoredSession[];
  /** Where the next page begins; undefined when there is none. Sealed like that of a page of runs. */
  next?: string;
}

/** What was said from one message of a session to another. */
export interface SessionRange extends ContextRange {
  sessionId: string;
}

export interface MessageRange {
  from: number;
  /** The position after the last one wanted; without it, up to the end. */
  to?: number | undefined;
  limit?: number | undefined;
  /** The message that brings those before it to this size, as stored, is the last. */
  maxChars?: number | undefined;
  /** The limits count from the end of the range, so that its last messages are there; the order is the same. */
  latest?: boolean | undefined;
}

export interface NewFork {
  owner: string;
  from: string;
  into: string;
  /** How many messages the fork begins with, from the first on; without it, all there are. */
  upTo?: number | undefined;
  /** Without it, that of the other session. */
  title?: string | null | undefined;
}

export interface Sessions {
  /** Rejects with `session_exists` when the name is taken. */
  create(session: NewSession): Promise<StoredSession>;
  /** Rejects with `session_not_found`. */
  update(owner: string, sessionId: string, change: SessionChange): Promise<StoredSession>;
  get(owner: string, sessionId: string): Promise<StoredSession | undefined>;
  /** The one used last first. One that is used while a client turns pages moves to the first of them. */
  list(filter: SessionFilter): Promise<SessionPage>;
  /** In order; none when there is no such session. */
  messages(owner: string, sessionId: string, range: MessageRange): Promise<StoredMessage[]>;
  /**
   * Makes a session that begins as another one did. What is context in it is what was context after its last message.
   * Rejects with `session_not_found`, or `session_exists` when the new name is taken.
   */
  fork(fork: NewFork): Promise<StoredSession>;
  /** Rejects with `session_not_found`, or `session_active_turn` while a run of it is unfinished. */
  delete(owner: string, sessionId: string): Promise<void>;
  /** Deletes sessions that were not used for `unusedMs`, at most `limit`, the longest unused first; how many went. */
  sweep(unusedMs: number, limit: number): Promise<number>;
}
