/**
 * Sends a step to an OpenAI-compatible endpoint. The provider layer builds the request. The answer is read here, because
 * every step of most servers passes through: that layer sends each chunk through four web streams and two checks of its
 * schema, which took more processor time than anything else in a text run.
 */
import type { IncomingMessage } from 'node:http';
import { version } from '../../basics/version.ts';
import { requestPatiently } from '../../network/patient-request.ts';
import type { PartGroups, StreamParts } from './ai-sdk-model.ts';
import { ChatReader, type CreateCallTracker } from './chat-reader.ts';
import { isMarkup, unreadableAnswerError } from './model-errors.ts';

/** An explanation is short; what follows is not read. */
const MAX_TEXT_CHARS = 100_000;
/** Usually a response ends with its last chunk, and the next step can use the connection. Some servers never end it. */
const AFTER_DONE_MS = 1_000;

export interface ChatCompletionsOptions {
  baseUrl: string;
  model: string;
  apiKey: string | undefined;
  /** The key of the provider options, and of the metadata of parts. */
  optionsKey: string;
}

export async function chatCompletions(options: ChatCompletionsOptions): Promise<StreamParts> {
  const { baseUrl, model, apiKey, optionsKey } = options;
  const [{ OpenAICompatibleChatLanguageModel }, { StreamingToolCallTracker }] = await Promise.all([
    import('@ai-sdk/openai-compatible'),
    import('@ai-sdk/provider-utils'),
  ]);
  const url = new URL(`${baseUrl.replace(/\/$/, '')}/chat/completions`);
  const builder = new OpenAICompatibleChatLanguageModel(model, { provider: optionsKey, url: () => url.href });
  const createTracker: CreateCallTracker = (enqueue, extractMetadata) =>
    new StreamingToolCallTracker(
      { enqueue },
      { extractMetadata, buildToolCallProviderMetadata: (metadata) => metadata },
    );
  const headers = {
    'content-type': 'application/json',
    'user-agent': `talaria/${version}`,
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  const toJson = requestJson();
  return async (call) => {
    const { body } = await builder.prepareRequest(call);
    const response = await requestPatiently(url, {
      method: 'POST',
      headers,
      // Without `include_usage` a stream reports no usage at all.
      body: toJson({ ...body, stream: true, stream_options: { include_usage: true } }),
      signal: call.abortSignal,
    }).catch((cause: unknown) => {
      throw Object.assign(new Error(messageOf(cause), { cause }), { url: url.href });
    });
    // Whoever iterates gets the error. Nobody does after the step has ended, and then it must not be thrown.
    response.setEncoding('utf8').on('error', () => {});
    const { statusCode = 500 } = response;
    if (statusCode < 200 || statusCode > 299) throw toRefusal(response, url.href, await readText(response));
    return readAnswer(response, new ChatReader(optionsKey, createTracker), url.href);
  };
}

interface ChatTool {
  function?: Record<string, unknown>;
}

/** Most of a request is its tools, and almost every step has those of the step before, so their JSON is kept. */
function requestJson(): (body: Record<string, unknown>) => string {
  let last: { tools: readonly ChatTool[]; json: string } | undefined;
  return ({ tools, ...rest }) => {
    const json = JSON.stringify(rest);
    if (!Array.isArray(tools)) return json;
    if (last === undefined || !areSame(last.tools, tools)) last = { tools, json: JSON.stringify(tools) };
    return `${json.slice(0, -1)},"tools":${last.json}}`;
  };
}

/** The provider layer makes new objects for each request, around the same schemas. */
function areSame(some: readonly ChatTool[], others: readonly ChatTool[]): boolean {
  if (some.length !== others.length) return false;
  return some.every(({ function: one = {} }, i) => {
    const other = others[i]?.function ?? {};
    const names = Object.keys(one);
    return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
  });
}

async function* readAnswer(response: IncomingMessage, reader: ChatReader, url: string): PartGroups {
  let timer: NodeJS.Timeout | undefined;
  let begun = false;
  let json: string | undefined;
  let page: string | undefined;
  try {
    for await (const piece of response) {
      const text = piece as string;
      if (!begun && isMarkup(text)) {
        page = text;
        break;
      }
      // By its first character, because some servers give a stream the type of JSON. No line of a stream begins so.
      if (!begun && text.trimStart().startsWith('{')) json = '';
      begun = true;
      if (json !== undefined && json.length < MAX_TEXT_CHARS) json += text;
      if (reader.isDone || json !== undefined) continue;
      yield reader.read(text);
      if (reader.isDone) timer = setTimeout(() => response.destroy(), AFTER_DONE_MS);
    }
  } catch (cause) {
    // In the shape of the SDK's errors, as below: the status tells that there was an answer.
    const { statusCode } = response;
    if (!reader.isDone) throw Object.assign(new Error(messageOf(cause), { cause }), { url, statusCode });
  } finally {
    clearTimeout(timer);
  }
  if (page !== undefined) throw toRefusal(response, url, page);
  if (json !== undefined) throw toProblem(json);
  yield reader.end();
}

/** In the shape of the SDK's errors, which `toModelError` reads. */
function toRefusal(response: IncomingMessage, url: string, responseBody: string): Error {
  return Object.assign(new Error('The endpoint refused the request'), {
    url,
    statusCode: response.statusCode,
    responseBody,
    responseHeaders: response.headers,
  });
}

/** A server that cannot stream, or that reports an error without a status of its own. */
function toProblem(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'error' in body) return body;
  } catch {
    // Falls through: not JSON.
  }
  return unreadableAnswerError();
}

/** The beginning of the body, as far as it arrives. */
async function readText(response: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const piece of response) {
      text += piece as string;
      if (text.length > MAX_TEXT_CHARS) break;
    }
  } catch {
    // The status and what has arrived say more than how it broke off.
  }
  return text;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
