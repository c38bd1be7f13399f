/**
 * Sends a step to an OpenAI-compatible endpoint. The provider layer builds the request. The answer is read here, because
 * every step of most servers passes through: that layer sends each chunk through four web streams and two checks of its
 * schema, which took a fifth of all processor time of a text run.
 */
import type { IncomingMessage } from 'node:http';
import { version } from '../../basics/version.ts';
import { requestPatiently } from '../../network/patient-request.ts';
import type { PartGroups, StreamParts } from './ai-sdk-model.ts';
import { ChatReader, type CreateCallTracker } from './chat-reader.ts';

/** An explanation is short; what follows is not read. */
const MAX_ERROR_CHARS = 100_000;

export interface ChatCompletionsOptions {
  baseUrl: string;
  model: string;
  apiKey: string | undefined;
  /** The key of the provider options, and of the metadata of parts. */
  options: string;
}

export async function chatCompletions(options: ChatCompletionsOptions): Promise<StreamParts> {
  const { baseUrl, model, apiKey, options: name } = options;
  const [{ OpenAICompatibleChatLanguageModel }, { StreamingToolCallTracker }] = await Promise.all([
    import('@ai-sdk/openai-compatible'),
    import('@ai-sdk/provider-utils'),
  ]);
  const url = new URL(`${baseUrl.replace(/\/$/, '')}/chat/completions`);
  const builder = new OpenAICompatibleChatLanguageModel(model, { provider: name, url: () => url.href });
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
  return async (call) => {
    const { body } = await builder.prepareRequest(call);
    const response = await requestPatiently(url, {
      method: 'POST',
      headers,
      // Without `include_usage` a stream reports no usage at all.
      body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
      signal: call.abortSignal,
    }).catch((cause: unknown) => {
      throw Object.assign(new Error('The request could not be sent', { cause }), { url: url.href });
    });
    // Whoever iterates gets the error. Nobody does after the step has ended, and then it must not be thrown.
    response.setEncoding('utf8').on('error', () => {});
    if (response.statusCode !== 200) throw await toRefusal(response);
    return readAnswer(response, new ChatReader(name, createTracker));
  };
}

async function* readAnswer(response: IncomingMessage, reader: ChatReader): PartGroups {
  for await (const text of response) yield reader.read(text as string);
  yield reader.end();
}

/** In the shape of the SDK's errors, which `toModelError` reads. */
async function toRefusal(response: IncomingMessage): Promise<Error> {
  let text = '';
  for await (const piece of response) {
    text += piece as string;
    if (text.length > MAX_ERROR_CHARS) break;
  }
  return Object.assign(new Error('The endpoint refused the request'), {
    statusCode: response.statusCode,
    responseBody: text,
    responseHeaders: response.headers,
  });
}
