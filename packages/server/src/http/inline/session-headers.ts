/**
 * `X-Hermes-Session-Id` names the stored transcript that a request continues; `X-Hermes-Session-Key` is the client's
 * own label, echoed. Both need a server with an API key: on an open server anybody could continue, and so read,
 * anybody's conversation.
 */
import { TalariaError } from '@talaria/protocol';
import type { FastifyRequest } from 'fastify';
import { header } from '../requests/header.ts';

const MAX_CHARS = 256;

export interface SessionHeaders {
  sessionId: string | undefined;
  sessionKey: string | undefined;
}

export function readSessionHeaders(request: FastifyRequest, keyConfigured: boolean): SessionHeaders {
  const read = (name: string): string | undefined => {
    const value = header(request, name.toLowerCase());
    if (value === undefined || value === '') return undefined;
    if (!keyConfigured) {
      const message = `'${name}' needs a server with an API key; configure API_SERVER_KEY to use it`;
      throw new TalariaError('session_needs_key', { message, param: name });
    }
    return decode(name, value);
  };
  return { sessionId: read('X-Hermes-Session-Id'), sessionKey: read('X-Hermes-Session-Key') };
}

/** The headers of every inline answer. */
export function sessionHeaders(sessionId: string, sessionKey: string | undefined): Record<string, string> {
  return {
    'x-hermes-session-id': toHeader(sessionId),
    ...(sessionKey === undefined ? {} : { 'x-hermes-session-key': toHeader(sessionKey) }),
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Node gives a header as one character per byte; what the client wrote is UTF-8. */
function decode(name: string, value: string): string {
  let text: string | undefined;
  try {
    text = utf8.decode(Buffer.from(value, 'latin1'));
  } catch {}
  if (text === undefined || text.length > MAX_CHARS || /\p{Cc}/u.test(text)) {
    const message = `'${name}' must be UTF-8 of at most ${MAX_CHARS} characters, without control characters`;
    throw new TalariaError('invalid_request', { message, param: name });
  }
  return text;
}

function toHeader(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
