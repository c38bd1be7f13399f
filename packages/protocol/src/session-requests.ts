/** Reads the bodies of `/api/sessions`, as requests.ts reads those of runs. */
import { invalid, optionalString, parseObject } from './fields.ts';
import { parseSessionName } from './requests.ts';

export interface ForkSession {
  sessionId: string | undefined;
  /** How many messages the fork begins with; undefined is all of them. */
  messages: number | undefined;
}

export function parseForkSession(body: unknown): ForkSession {
  const fields = parseObject(body);
  const messages = fields.messages ?? undefined;
  if (messages !== undefined && (!Number.isSafeInteger(messages) || Number(messages) < 0)) {
    throw invalid('messages', "'messages' must be a whole number, not less than 0");
  }
  return {
    sessionId: parseSessionName(optionalString(fields, 'session_id') ?? '', 'session_id'),
    messages: messages as number | undefined,
  };
}
