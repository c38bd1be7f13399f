/**
 * Sessions: messages under one name, turn after turn. The transcript outlives the runs it came from.
 *
 * Invariants
 * - A session belongs to one owner. The same name under another owner is another session.
 * - It exists from when somebody creates it, a run is created with its name (`session_named`), or a fork makes it,
 *   until it is deleted or unused for too long. A run without a named session creates none.
 * - Its messages are counted by `pos` from 0 without gaps, and never change.
 * - A turn joins in the transaction of the record that completes its run (`AppendOptions.turn`): it is in the
 *   transcript once, or not at all.
 * - The context of the next run is the messages from `contextFrom` to `nextPos`. `contextFrom` only grows.
 * - A session with an unfinished run is neither deleted nor swept: the run can always read its context.
 * - Its details (title, flags, why it ended) change neither its place in the list nor when it was last used. A new run
 *   in an ended session reopens it.
 * - It keeps the files of its last run that has ended (`files`), from the transaction of the record that ended it. A fork begins
 *   with the same, or with those of a run that is named (`ForkedFiles`). They are deleted with it.
 * - The session of a run's fork (`NewRun.sessionFork`) is made in the transaction that creates the fork. It has the first
 *   `upTo` messages of the session that the run is in, and what a fork of that session has. If that session was deleted,
 *   the fork is refused with `session_not_found`, or begins with an empty session if it needs none of the messages.
 * - When a session is deleted, its runs stop being anyone's previous turn, and its grants end: a later session of that
 *   name knows nothing of it.
 */
import type { Usage } from '@talaria/protocol';
import type { KeptSessionFiles, SessionFiles } from './checkpoints.ts';
import type { Message } from './messages.ts';
import type { ContextRange } from './records.ts';

/** What a run adds to its session. */
export interface Turn {
  messages: readonly Message[];
  /** The client gave the history itself: earlier messages of the session are no context any more. */
  replaces: boolean;
  /** What the run has spent. */
  usage?: Usage;
}

/** The source of a session whose creator names none: the part of Hermes that serves such clients. */
export const DEFAULT_SOURCE = 'api_server';

/** The flags of a session. */
export const SESSION_FLAGS = ['pinned', 'archived', 'hidden', 'unread'] as const;
export type SessionFlag = (typeof SESSION_FLAGS)[number];

/** Times in ms. A count is null if it is unknown: the session is older than the counting. */
export interface StoredSession extends Record<SessionFlag, boolean> {
  sessionId: string;
  createdAt: number;
  /** When a run was last created in it, or a turn joined. */
  usedAt: number;
  /** How many messages there are; the `pos` of the next one. */
  nextPos: number;
  contextFrom: number;
  turns: number;
  /** The last run that was created in it; null for a fork nobody has used yet. */
  lastRunId: string | null;
  /** The name of the session it was forked from, which may be gone. */
  forkedFrom: string | null;
  title: string | null;
  /** Instructions for every run in it, before the run's own. */
  systemPrompt: string | null;
  /** The source and the model of the session, as its creator named them. */
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

/** Absent fields stay unchanged. */
export interface SessionChange extends Partial<Record<SessionFlag, boolean>> {
  title?: string | null;
  /** Ends the session now; null reopens it. */
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
  /** The `next` of the page before; rejects with `invalid_cursor` if it is not one of this owner's. */
  after?: string | undefined;
  /** How many to skip, from there on. */
  offset?: number | undefined;
  limit: number;
  source?: string | undefined;
  title?: string | undefined;
  /** Without it, hidden sessions are left out. */
  includeHidden?: boolean | undefined;
}

export interface SessionPage {
  sessions: StoredSession[];
  /** Where the next page begins; undefined when there is none. Sealed like the cursor of a page of runs. */
  next?: string;
}

/** A range of a session's messages. */
export interface SessionRange extends ContextRange {
  sessionId: string;
}

export interface MessageRange {
  from: number;
  /** The position after the last one; without it, up to the end. */
  to?: number | undefined;
  limit?: number | undefined;
  /** The last message is the one that reaches this total stored size. */
  maxChars?: number | undefined;
  /** The limits count from the end of the range, so that it includes the last messages; the order is the same. */
  latest?: boolean | undefined;
}

/**
 * The files that the fork of a session begins with: those that the session has now (undefined), none (null), or those of a run,
 * which must hold their blobs.
 */
export type ForkedFiles = KeptSessionFiles | null | undefined;

export interface NewFork {
  owner: string;
  from: string;
  into: string;
  /** How many messages the fork starts with, from the first; without it, all. */
  upTo?: number | undefined;
  /** The title of the original session by default. */
  title?: string | null | undefined;
  files?: ForkedFiles;
}

/** The beginning of the session that a run is in. */
export interface SessionOfRun {
  runId: string;
  upTo: number;
  files?: ForkedFiles;
}

export interface Sessions {
  /** Rejects with `session_exists` when the name is taken. */
  create(session: NewSession): Promise<StoredSession>;
  /** Rejects with `session_not_found`. */
  update(owner: string, sessionId: string, change: SessionChange): Promise<StoredSession>;
  get(owner: string, sessionId: string): Promise<StoredSession | undefined>;
  /** Most recently used first. A session that is used while a client turns pages moves to the first page. */
  list(filter: SessionFilter): Promise<SessionPage>;
  /** The files that the next run in it begins with. */
  files(owner: string, sessionId: string): Promise<SessionFiles | undefined>;
  /** In order; none when there is no such session. */
  messages(owner: string, sessionId: string, range: MessageRange): Promise<StoredMessage[]>;
  /**
   * Creates a session that starts with the messages of another one. Its context is what was context after its last
   * message. Rejects with `session_not_found`, `session_exists` when the new name is taken, or `run_not_found` when the run
   * that holds its files was evicted.
   */
  fork(fork: NewFork): Promise<StoredSession>;
  /** Rejects with `session_not_found`, or `session_active_turn` while a run of it is unfinished. */
  delete(owner: string, sessionId: string): Promise<void>;
  /** Deletes sessions that were unused for `unusedMs`, at most `limit`, the longest unused first; returns how many. */
  sweep(unusedMs: number, limit: number): Promise<number>;
}
