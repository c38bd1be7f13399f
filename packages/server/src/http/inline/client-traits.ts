/**
 * What the libraries that people use make of an answer, where they differ. Each of these was tried (test/compat); a client
 * is known by its User-Agent, and one that sends an `X-Hermes-…` header is a Hermes client whatever it is made of.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorBody, RUN_FAILURE_STATUS } from '@talaria/protocol';

/**
 * OpenAI's own libraries and those built on them, at the beginning of a User-Agent or behind another one's. Most of them also
 * send `X-Stainless-Lang`.
 */
const OPENAI_KIN =
  /(^|[\s(])(Async)?(Azure)?OpenAI\/|\bai-sdk[-/]|\blangchain|^litellm\/|^pydantic-ai\/|^instructor\//i;
const AI_SDK = /\bai-sdk[-/]/i;
const LANGCHAIN_JS = /\blangchainjs/i;

export function isHermesClient(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-hermes-'));
}

/** OpenAI's kin take a frame with an `event:` line for something else than a chunk and break; Hermes clients read it. */
export function hasNamedFrames(headers: IncomingHttpHeaders): boolean {
  const isKin = 'x-stainless-lang' in headers || OPENAI_KIN.test(agentOf(headers));
  return isHermesClient(headers) || !isKin;
}

/** The AI SDK takes a chunk with an error for a chunk, and so the end of a failed stream for that of an answer. */
export function readsErrorsAlone(headers: IncomingHttpHeaders): boolean {
  return AI_SDK.test(agentOf(headers));
}

/** It also starts a stream again that has failed with a type or code that reads like a passing trouble. */
export function toLastingError(error: ErrorBody['error']): ErrorBody['error'] {
  const code = error.code?.includes('rate_limit') ? 'provider_error' : error.code;
  return { ...error, type: 'invalid_request_error', code };
}

/** LangChain's JavaScript repeats whatever is not on a short list of its own, which has 400 and not 422. */
export function failureStatus(headers: IncomingHttpHeaders): number {
  return LANGCHAIN_JS.test(agentOf(headers)) ? 400 : RUN_FAILURE_STATUS;
}

function agentOf(headers: IncomingHttpHeaders): string {
  return headers['user-agent'] ?? '';
}
