/**
 * Stored responses: runs that clients of OpenAI's API come back to, and go on from, by an id of that API.
 *
 * Invariants
 * - A response is there from the transaction that creates its run (`NewRun.response`) until it is deleted or pushed out.
 *   It belongs to the owner of its run; to anyone else it does not exist.
 * - Its run is in a session. A run that goes on from it (`NewResponse.previous`) is given exactly what its run was given
 *   and added, whatever was said in that session since: it goes on in the session if the response was its last turn
 *   and nothing is under way there, and in a fork of it that ends with the response if not.
 * - Only a response whose run completed can be gone on from, and only while its session is there.
 * - An owner has at most `maxStored` of them, and those that are unfinished: a new one pushes out the oldest finished.
 * - It outlives its run once its `snapshot` was kept: whoever evicts a run sees to that first.
 */
import type { SessionRange } from './sessions.ts';

/** What was asked for and has to be said again with every answer; the names are those of the wire. */
export interface ResponseSettings {
  model: string;
  previous_response_id: string | null;
  conversation: string | null;
  instructions: string | null;
  metadata: Record<string, string>;
  truncation: 'auto' | 'disabled';
  background: boolean;
  store: boolean;
}

/** The response a new run is. */
export interface NewResponse {
  responseId: string;
  settings: ResponseSettings;
  /** The response to go on from; then the run's `sessionId` is the name of the fork, should one be needed. */
  previous?: string | undefined;
  maxStored: number;
}

export interface StoredResponse {
  responseId: string;
  owner: string;
  runId: string;
  sessionId: string;
  /** In ms. */
  createdAt: number;
  settings: ResponseSettings;
  /** The response as JSON, once its run may be gone. */
  snapshot: string | null;
}

export interface Responses {
  get(owner: string, responseId: string): Promise<StoredResponse | undefined>;
  /**
   * Where that stands what a run is given that goes on from it. Rejects with `previous_response_not_found`, also when its
   * session is gone, or `previous_response_not_completed`.
   */
  context(owner: string, responseId: string): Promise<SessionRange>;
  /** Rejects with `response_not_found`, or `response_not_finished` while its run is unfinished. */
  delete(owner: string, responseId: string): Promise<void>;
  /** The response that the run is. */
  ofRun(runId: string): Promise<StoredResponse | undefined>;
  /** Keeps the snapshot; does nothing when the response is gone. */
  keep(responseId: string, snapshot: string): Promise<void>;
}
