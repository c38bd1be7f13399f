/** What chat completions and responses share: both answer with the model's text. */
import type { RequestOptions } from '../transport.ts';

export interface SessionOptions extends RequestOptions {
  /**
   * Continues a stored transcript. The server must have an API key for this. The response has a header of the same
   * name.
   */
  sessionId?: string | undefined;
  sessionKey?: string | undefined;
}

/** One answer may take many steps and tool calls. */
export const ANSWER_TIMEOUT_MS = 600_000;

export function sessionHeaders({
  sessionId,
  sessionKey,
}: SessionOptions): Record<string, string | undefined> {
  return { 'x-hermes-session-id': sessionId, 'x-hermes-session-key': sessionKey };
}
