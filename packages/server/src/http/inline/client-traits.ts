/**
 * How popular client libraries differ in reading a response. Each of them was tried (test/compat). A client is
 * recognised by its User-Agent; one that sends an `X-Hermes-…` header is a Hermes client whatever it is built on.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorBody } from '@talaria/protocol';

/**
 * OpenAI's own libraries and those built on them, at the beginning of a User-Agent or after another name. Most of them
 * also send `X-Stainless-Lang`.
 */
const OPENAI_KIN =
  /(^|[\s(])(Async)?(Azure)?OpenAI\/|\bai-sdk[-/]|\blangchain|^litellm\/|^pydantic-ai\/|^instructor\//i;
const AI_SDK = /\bai-sdk[-/]/i;

export function isHermesClient(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-hermes-'));
}

/** OpenAI's libraries do not read a frame with an `event:` line as a chunk, and break; Hermes clients read it. */
export function hasNamedFrames(headers: IncomingHttpHeaders): boolean {
  const isKin = 'x-stainless-lang' in headers || OPENAI_KIN.test(agentOf(headers));
  return isHermesClient(headers) || !isKin;
}

/**
 * The AI SDK reads a chunk with an error as a normal chunk, and so takes the end of a failed stream for the end of an
 * answer.
 */
export function readsErrorsAlone(headers: IncomingHttpHeaders): boolean {
  return AI_SDK.test(agentOf(headers));
}

/** It also restarts a failed stream if the error's type or code looks transient. */
export function toLastingError(error: ErrorBody['error']): ErrorBody['error'] {
  const code = error.code?.includes('rate_limit') ? 'provider_error' : error.code;
  return { ...error, type: 'invalid_request_error', code };
}

function agentOf(headers: IncomingHttpHeaders): string {
  return headers['user-agent'] ?? '';
}
