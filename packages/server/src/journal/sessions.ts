/**
 * Sessions: what was said under one name, turn after turn. The transcript outlives the runs it came from.
 *
 * Invariants
 * - A session belongs to one owner. The same name under another owner is another session.
 * - It is there from the first run that was created with its name (`session_named`), or from the fork it was made by,
 *   until it is deleted or unused for too long. A run nobody named a session for leaves none.
 * - Its messages are counted by `pos` from 0 without gaps, and never change.
 * - A turn joins in the transaction of the record that completes its run (`AppendOptions.turn`): it stands in the
 *   transcript once, or not at all.
 * - What the next run is given as its context are the messages from `contextFrom` to `nextPos`. `contextFrom` only grows.
 * - A session of which a run is unfinished is neither deleted nor swept: what a run was given to read stays readable
 *   for it.
 * - With a session its runs stop being anyone's previous turn, and what was granted for it is granted no more: a later
 *   session of that name knows nothing of it.
 */
import type { Message } from './messages.ts';
import type { ContextRange } from './records.ts';

/** What a run adds to its session. */
export interface Turn {
  messages: readonly Message[];
  /** The client gave the history itself: what the session held before is no context any more. */
  replaces: boolean;
}

/** Times in ms. */
export interface StoredSession {
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
  limit: number;
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
}

export interface NewFork {
  owner: string;
  from: string;
  into: string;
  /** How many messages the fork begins with, from the first on; without it, all there are. */
  upTo?: number | undefined;
}

export interface Sessions {
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
  /** Rejects with `session_not_found`, or `session_busy` while a run of it is unfinished. */
  delete(owner: string, sessionId: string): Promise<void>;
  /** Deletes sessions that were not used for `unusedMs`, at most `limit`, the longest unused first; how many went. */
  sweep(unusedMs: number, limit: number): Promise<number>;
}
