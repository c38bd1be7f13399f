/**
 * How popular client libraries differ in reading a response. Each of them was tried (test/compat). A client is
 * recognised by its User-Agent; one that sends an `X-Hermes-…` header is a Hermes client whatever it is built on.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorBody } from '@talaria/protocol';

/**
 * OpenAI's own libraries, those built on them and others for its API, at the beginning of a User-Agent or after another
 * name. Most of them also send `X-Stainless-Lang`. go-openai has only the name of Go's own client.
 */
const OPENAI_KIN =
  /(^|[\s(])(Async)?(Azure)?OpenAI\/|\bai-sdk[-/]|\blangchain|^litellm\/|^pydantic-ai\/|^instructor\/|^Go-http-client\//i;
const AI_SDK = /\bai-sdk[-/]/i;
/** It has only the name of Node's `fetch`. */
const AI_SDK_4 = /^node$/;
const AI_SDK_5 = /\bai-sdk\/provider-utils\/3\./i;
const CODEX = /^codex[_-]/i;
/** The library of the `hermes-client` gem, which sends no header of its own. */
const HERMES_GEM = /^http\.rb\//i;

export function isHermesClient(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-hermes-'));
}

/** Whether a client without tools expects the server's calls as Hermes servers show them. */
export function expectsOlderItems(headers: IncomingHttpHeaders): boolean {
  return isHermesClient(headers) || HERMES_GEM.test(agentOf(headers));
}

/** It refuses a response with an item that it does not know, and `mcp_call` is one. */
export function refusesUnknownItems(headers: IncomingHttpHeaders): boolean {
  return AI_SDK_5.test(agentOf(headers));
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
  const agent = agentOf(headers);
  return AI_SDK.test(agent) || AI_SDK_4.test(agent);
}

/** They start a failed stream again unless the code of the failure is one that they know as lasting. */
export function restartsStreams(headers: IncomingHttpHeaders): boolean {
  const agent = agentOf(headers);
  return AI_SDK.test(agent) || CODEX.test(agent);
}

/** Of the codes that Codex and the AI SDK both know as lasting, the one that says least about the reason. */
export const LASTING_CODE = 'invalid_prompt';

/** The AI SDK also restarts a failed stream if the error's type or code looks transient. */
export function toLastingError(error: ErrorBody['error']): ErrorBody['error'] {
  const code = error.code?.includes('rate_limit') ? 'provider_error' : error.code;
  return { ...error, type: 'invalid_request_error', code };
}

function agentOf(headers: IncomingHttpHeaders): string {
  return headers['user-agent'] ?? '';
}
