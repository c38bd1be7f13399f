/**
 * Stored responses: runs that clients of OpenAI's API come back to, and go on from, by an id of that API.
 *
 * Invariants
 * - A response is there from the transaction that creates its run (`NewRun.response`) until it is deleted or pushed out.
 *   It belongs to the owner of its run; to anyone else it does not exist.
 * - A run that waits for its client ends the response there. What the client sends is the beginning of another response of
 *   the same run (`add`), which begins after the event `afterSeq`.
 * - Its run is in a session. A run that goes on from it (`NewResponse.previous`) is given exactly what its run was given
 *   and added, whatever was said in that session since: it goes on in the session if the response was its last turn
 *   and nothing is under way there, and in a fork of it that ends with the response if not.
 * - Only the last response of a run that completed can be gone on from, and only while its session is there.
 * - An owner has at most `maxStored` of them, and those that are unfinished: a new one pushes out the oldest finished.
 * - It outlives its run once its `snapshot` was kept: whoever evicts a run sees to that first.
 */
import type { ClientTool, ModelSettings, OutputForm, ToolChoice } from '@talaria/protocol';
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
  /** What the client set of the model and the server let through. */
  used: ModelSettings;
  /** The client's own. */
  tools: ClientTool[];
  tool_choice: ToolChoice | 'none';
  parallel_tool_calls: boolean;
  output_form: OutputForm | null;
  /** How calls are shown that the server runs. */
  tool_items: 'mcp_call' | 'function_call';
  /** Whether questions to a person are also told as text. */
  tells_approvals: boolean;
}

/** The response a new run is. */
export interface NewResponse {
  responseId: string;
  settings: ResponseSettings;
  /** The items it was asked with, as JSON. */
  input?: string | undefined;
  /** The response to go on from; then the run's `sessionId` is the name of the fork, should one be needed. */
  previous?: string | undefined;
  maxStored: number;
}

export interface NextResponse {
  responseId: string;
  afterSeq: number;
  settings: ResponseSettings;
  input?: string | undefined;
  maxStored: number;
}

export interface StoredResponse {
  responseId: string;
  owner: string;
  runId: string;
  /** The last event of the run before the response; -1 for none. */
  afterSeq: number;
  sessionId: string;
  /** In ms. */
  createdAt: number;
  settings: ResponseSettings;
  /** The response as JSON, once its run may be gone. */
  snapshot: string | null;
}

export interface Responses {
  get(owner: string, responseId: string): Promise<StoredResponse | undefined>;
  /** The items it was asked with, as JSON; null when they were not kept, undefined when there is no such response. */
  input(owner: string, responseId: string): Promise<string | null | undefined>;
  /**
   * Where that stands what a run is given that goes on from it. Rejects with `previous_response_not_found`, also when its
   * session is gone, or `previous_response_not_completed`.
   */
  context(owner: string, responseId: string): Promise<SessionRange>;
  /** Rejects with `response_not_found`, or `response_not_finished` while its run is unfinished. */
  delete(owner: string, responseId: string): Promise<void>;
  /**
   * Another response of the run that `previous` is of. Does nothing when there is one of that id already. Of a run that has
   * completed by now it can be gone on from, as `previous` can.
   */
  add(previous: StoredResponse, next: NextResponse): Promise<void>;
  /** The responses that the run is, in order. */
  ofRun(runId: string): Promise<StoredResponse[]>;
  /** Keeps the snapshot; does nothing when the response is gone. */
  keep(responseId: string, snapshot: string): Promise<void>;
}
