/** What the routes share that answer with a model's words: chat completions and responses. */
import type { RequestOptions } from '../transport.ts';

export interface SessionOptions extends RequestOptions {
  /** Continues a stored transcript. The server needs a key for it; the answer's header of this name has it too. */
  sessionId?: string | undefined;
  sessionKey?: string | undefined;
}

/** Behind one answer there may be many steps and tools. */
export const ANSWER_TIMEOUT_MS = 600_000;

export function sessionHeaders({
  sessionId,
  sessionKey,
}: SessionOptions): Record<string, string | undefined> {
  return { 'x-hermes-session-id': sessionId, 'x-hermes-session-key': sessionKey };
}
