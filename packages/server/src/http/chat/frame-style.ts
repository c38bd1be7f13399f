/**
 * How frames that say something beside the answer are written. OpenAI's own libraries, and those built on them, take a
 * frame with an `event:` line for something else than a chunk and break; Hermes clients read them by that line. A client
 * of the first kind that sends an `X-Hermes-…` header is one of the second.
 */
import type { IncomingHttpHeaders } from 'node:http';

/** Their User-Agent, at the beginning or behind that of what is built on them. */
const OPENAI_KIN =
  /(^|[\s(])(Async)?(Azure)?OpenAI\/|\bai-sdk\/|^langchain|^litellm\/|^pydantic-ai\/|^instructor\//i;

export function hasNamedFrames(headers: IncomingHttpHeaders): boolean {
  return isHermesClient(headers) || !OPENAI_KIN.test(headers['user-agent'] ?? '');
}

export function isHermesClient(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-hermes-'));
}
