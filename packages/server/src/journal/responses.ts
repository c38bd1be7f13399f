/**
 * Stored responses: runs that clients of OpenAI's API fetch and continue by an id of that API.
 *
 * Invariants
 * - A response exists from the transaction that creates its run (`NewRun.response`) until it is deleted or pushed out
 *   by newer ones. It belongs to the owner of its run; for anyone else it does not exist.
 * - A run that waits for its client ends the response there. The client's outputs begin another response of the same
 *   run (`add`), which begins after the event `afterSeq`.
 * - Its run is in a session. A run that continues the response (`NewResponse.previous`) gets exactly what that run got
 *   and added, whatever was said in the session since. It continues in the same session if the response was its last
 *   turn and no run is in progress there. Otherwise it continues in a fork of it that ends with the response.
 * - Only the last response of a completed run can be continued, and only while its session exists.
 * - An owner has at most `maxStored` of them, plus unfinished ones: a new one pushes out the oldest finished one.
 * - It outlives its run if its `snapshot` was stored, which must happen before a run is evicted.
 */
import type { ClientTool, ModelSettings, OutputForm, ToolChoice } from '@talaria/protocol';
import type { ForkedFiles, SessionRange } from './sessions.ts';

/** Requested settings that every answer repeats; the names are those of the wire. */
export interface ResponseSettings {
  model: string;
  previous_response_id: string | null;
  conversation: string | null;
  instructions: string | null;
  metadata: Record<string, string>;
  truncation: 'auto' | 'disabled';
  background: boolean;
  store: boolean;
  /** The model settings of the client that the server allowed. */
  used: ModelSettings;
  /** The client's own metadata. */
  tools: ClientTool[];
  tool_choice: ToolChoice | 'none';
  parallel_tool_calls: boolean;
  output_form: OutputForm | null;
  /** How to show calls that the server runs. */
  tool_items: 'mcp_call' | 'function_call' | 'none';
  /** Whether approval requests are also shown as text. */
  tells_approvals: boolean;
}

/** For a run that is a response. */
export interface NewResponse {
  responseId: string;
  settings: ResponseSettings;
  /** The input items, as JSON. */
  input?: string | undefined;
  /** The response to continue; then the run's `sessionId` is the name of the fork, if one is needed. */
  previous?: string | undefined;
  /** The files of that fork. */
  forkedFiles?: ForkedFiles;
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
  /** The response as JSON, when its run may be gone. */
  snapshot: string | null;
}

export interface Responses {
  get(owner: string, responseId: string): Promise<StoredResponse | undefined>;
  /** The input items, as JSON; null when they were not stored, undefined when there is no such response. */
  input(owner: string, responseId: string): Promise<string | null | undefined>;
  /**
   * The context of a run that continues it. Rejects with `previous_response_not_found`, also when its session is gone,
   * or `previous_response_not_completed`.
   */
  context(owner: string, responseId: string): Promise<SessionRange>;
  /** Rejects with `response_not_found`, or `response_not_finished` while its run is unfinished. */
  delete(owner: string, responseId: string): Promise<void>;
  /**
   * Adds another response of the run that `previous` belongs to. Does nothing when one with that id exists. If the run
   * has completed by now, the new one can be continued, as `previous` can.
   */
  add(previous: StoredResponse, next: NextResponse): Promise<void>;
  /** The responses of the run, in order. */
  ofRun(runId: string): Promise<StoredResponse[]>;
  /** Stores the snapshot; does nothing when the response is gone. */
  keep(responseId: string, snapshot: string): Promise<void>;
}
