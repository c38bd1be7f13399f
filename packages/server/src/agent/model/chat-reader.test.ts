/**
 * The reader of chat completions. For what servers send in practice, the provider layer's own reader is the measure: both
 * must find the same text, reasoning, calls, usage and reason.
 */
import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { StreamingToolCallTracker } from '@ai-sdk/provider-utils';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChatReader } from './chat-reader.ts';

const HEAD = { id: 'c', object: 'chat.completion.chunk', model: 'm' };
const frame = (fields: object) => `data: ${JSON.stringify({ ...HEAD, ...fields })}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  frame({ choices: [{ index: 0, delta, finish_reason }] });
const text = (content: string) => chunk({ content });
const call = (index: number | undefined, piece: object, id?: string) =>
  chunk({ tool_calls: [{ ...(index === undefined ? {} : { index }), ...(id && { id }), function: piece }] });
const usage = (more: object = {}) =>
  frame({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12, ...more } });
const DONE = 'data: [DONE]\n\n';
const STOP = chunk({}, 'stop') + usage() + DONE;
const CALLS = chunk({}, 'tool_calls') + usage() + DONE;

function createReader(): ChatReader {
  return new ChatReader(
    'compatible',
    (enqueue, extractMetadata) =>
      new StreamingToolCallTracker(
        { enqueue },
        { extractMetadata, buildToolCallProviderMetadata: (metadata) => metadata },
      ),
  );
}

function read(...pieces: string[]): LanguageModelV4StreamPart[] {
  const reader = createReader();
  return [...pieces.flatMap((piece) => reader.read(piece)), ...reader.end()];
}

async function readByProviderLayer(stream: string): Promise<LanguageModelV4StreamPart[]> {
  const fetch = async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  const config = { provider: 'compatible', url: () => 'http://model.invalid/', fetch };
  const model = new OpenAICompatibleChatLanguageModel('m', config);
  const found = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] });
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of found.stream) parts.push(part);
  return parts;
}

/** The content and the end of a step, without its grouping and the ids of its blocks. */
function essence(parts: readonly LanguageModelV4StreamPart[]): unknown[] {
  const found: unknown[] = [];
  let open: { kind: string; text: string } | undefined;
  for (const part of parts) {
    if (part.type === 'text-start' || part.type === 'reasoning-start') {
      open = { kind: part.type.slice(0, -6), text: '' };
      found.push(open);
    }
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') open!.text += part.delta;
    if (part.type === 'tool-call') {
      const { toolCallId, toolName, input, providerMetadata } = part;
      found.push({ toolCallId, toolName, input, providerMetadata });
    }
    if (part.type === 'finish') {
      const { inputTokens, outputTokens, raw } = part.usage;
      const counts = [
        inputTokens.total,
        inputTokens.cacheRead ?? 0,
        outputTokens.total,
        outputTokens.reasoning ?? 0,
      ];
      const total = raw?.total_tokens;
      found.push({ reason: part.finishReason, counts: counts.map((count) => count ?? 0), total });
    }
  }
  return found;
}

const STREAMS: Record<string, string> = {
  'text in several chunks': text('a ') + text('"b"\n') + text('ü🪽') + STOP,
  'an empty answer': STOP,
  'a role and empty content first': chunk({ role: 'assistant', content: '' }) + text('x') + STOP,
  'content with the end': chunk({ content: 'x' }, 'stop') + usage() + DONE,
  'reasoning_content, then text': chunk({ reasoning_content: 'so', content: null }) + text('yes') + STOP,
  'reasoning, then text, then reasoning again':
    chunk({ reasoning: 'so' }) + text('yes') + chunk({ reasoning: 'hm' }) + STOP,
  'content as a list of parts':
    chunk({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'so' }] },
        { type: 'text', text: 'yes' },
      ],
    }) + STOP,
  'content parts of unknown kinds':
    chunk({
      content: [
        { type: 'odd', text: 'no' },
        { type: 'text', text: 'yes' },
      ],
    }) + STOP,
  'a refusal': chunk({ refusal: 'I will not' }) + STOP,
  'a refusal that is no text': chunk({ refusal: { odd: true }, content: 'x' }) + STOP,
  'a call in one piece': call(0, { name: 'list', arguments: '{"path":"/"}' }, 'a') + CALLS,
  'a call in pieces':
    call(0, { name: 'list', arguments: '' }, 'a') +
    call(0, { arguments: '{"pa' }) +
    call(0, { arguments: 'th":1}' }) +
    CALLS,
  'two calls whose pieces alternate':
    call(0, { name: 'a', arguments: '{"x' }, 'a') +
    call(1, { name: 'b', arguments: '{"y' }, 'b') +
    call(0, { arguments: '":1}' }) +
    call(1, { arguments: '":2}' }) +
    CALLS,
  'a call whose name comes after its arguments':
    call(0, { arguments: '{"x' }, 'a') + call(0, { name: 'late', arguments: '":1}' }) + CALLS,
  'a call without an index': call(undefined, { name: 'list', arguments: '{}' }, 'a') + CALLS,
  'a call with a thought signature':
    chunk({
      tool_calls: [
        {
          index: 0,
          id: 'a',
          function: { name: 'list', arguments: '{}' },
          extra_content: { google: { thought_signature: 'sig' } },
        },
      ],
    }) + CALLS,
  'text between calls': text('now') + call(0, { name: 'list', arguments: '{}' }, 'a') + text('then') + CALLS,
  'calls with the reason stop': call(0, { name: 'list', arguments: '{}' }, 'a') + STOP,
  'details of the usage':
    text('x') +
    chunk({}, 'length') +
    usage({
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 2 },
    }) +
    DONE,
  'no usage': text('x') + chunk({}, 'content_filter') + DONE,
  'an unknown reason': text('x') + chunk({}, 'eos') + usage() + DONE,
  'usage in every chunk':
    frame({ choices: [{ delta: { content: 'x' } }], usage: { prompt_tokens: 1 } }) + STOP,
  'several answers':
    frame({ choices: [0, 1].map((index) => ({ index, delta: { content: `${index}` } })) }) + STOP,
  'comments, names and ids': `: hello\n\nevent: message\nid: 3\n${text('x')}${STOP}`,
  'lines that end in CR LF': (text('x') + STOP).replaceAll('\n', '\r\n'),
};

test.each(Object.entries(STREAMS))('%s: as the provider layer reads it', async (_, stream) => {
  expect(essence(read(stream))).toEqual(essence(await readByProviderLayer(stream)));
});

test.each(Object.entries(STREAMS))('%s: the same wherever the stream is cut', (_, stream) => {
  const whole = essence(read(stream));
  fc.assert(
    fc.property(fc.array(fc.nat({ max: stream.length })), (places) => {
      const cuts = [0, ...places.toSorted((a, b) => a - b), stream.length];
      const pieces = cuts.slice(1).map((end, i) => stream.slice(cuts[i], end));
      expect(essence(read(...pieces))).toEqual(whole);
    }),
    { numRuns: 20 },
  );
});

test('text that arrives together is one part', () => {
  const deltas = read(text('a') + text('b'), text('c') + STOP).filter((part) => part.type === 'text-delta');
  expect(deltas.map((part) => part.delta)).toEqual(['ab', 'c']);
});

const first = (choice: unknown) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
const pieces = (...tool_calls: unknown[]) => first({ delta: { tool_calls } });

test.each([
  ['not JSON', 'data: {"choices"\n\n'],
  ['null', 'data: null\n\n'],
  ['without choices', 'data: {"id":"c"}\n\n'],
  ['with a number for a choice', first(5)],
  ['with text for a delta', first({ delta: 'abc' })],
  ['with a number for its content', first({ delta: { content: 5 } })],
  ['with null for a content part', first({ delta: { content: [null] } })],
  ['with a number for its reasoning', first({ delta: { reasoning: 5 } })],
  ['with text for its calls', first({ delta: { tool_calls: 'list' } })],
  ['with null for a call', pieces(null)],
  ['with a number for the id of a call', pieces({ index: 0, id: 5, function: { name: 'x' } })],
  ['with a number for the name of a call', pieces({ index: 0, id: 'a', function: { name: 5 } })],
  ['with text for the index of a call', pieces({ index: '0', id: 'a', function: { name: 'x' } })],
  ['with a number for the arguments of a call', pieces({ function: { name: 'x', arguments: 5 } })],
])('a chunk %s is unreadable: the text before it is shown, and nothing follows', (_, odd) => {
  const parts = createReader().read(text('a') + odd + text('b'));
  expect(parts.map((part) => part.type)).toEqual(['text-start', 'text-delta', 'error']);
  expect(parts.at(-1)).toMatchObject({ error: { code: 'provider_error', retryable: true } });
});

test('a chunk without an end is unreadable', () => {
  const reader = createReader();
  const piece = `data: ${'x'.repeat(1024 * 1024)}`;
  const parts = Array.from({ length: 20 }, () => reader.read(piece)).flat();
  expect(parts).toMatchObject([{ type: 'error', error: { code: 'provider_error' } }]);
});

test('arguments that come as an object are its JSON', () => {
  const stream = pieces({ index: 0, id: 'a', function: { name: 'x', arguments: { path: '/' } } }) + CALLS;
  expect(essence(read(stream))[0]).toMatchObject({ toolName: 'x', input: '{"path":"/"}' });
});

test.each([
  ['text', '7'],
  ['an object', {}],
  ['negative', -5],
  ['null', null],
])('a count of tokens that is %s is left out', (_, count) => {
  const stream =
    text('x') +
    chunk({}, 'stop') +
    frame({ choices: [], usage: { prompt_tokens: count, total_tokens: count } });
  const finish = read(stream).at(-1);
  expect(finish).toMatchObject({ type: 'finish', usage: { inputTokens: { total: undefined } } });
  expect(finish).not.toHaveProperty('usage.raw');
});

test('an empty reason counts if the stream is done, and there is no other', () => {
  const empty = chunk({ content: 'x' }, '');
  expect(read(empty + DONE).at(-1)).toMatchObject({ finishReason: { unified: 'other' } });
  expect(read(empty + chunk({}, 'length') + chunk({}, '') + DONE).at(-1)).toMatchObject({
    finishReason: { unified: 'length' },
  });
  const cut = createReader();
  cut.read(empty);
  expect(() => cut.end()).toThrow('before it was complete');
});

test('an error in the stream is passed on whole', () => {
  const error = { error: { message: 'overloaded' }, status: 503 };
  expect(createReader().read(`data: ${JSON.stringify(error)}\n\n`)).toEqual([{ type: 'error', error }]);
});

test('an error field that is null is no error', () => {
  expect(essence(read(frame({ error: null, choices: [{ delta: { content: 'x' } }] }) + STOP))[0]).toEqual({
    kind: 'text',
    text: 'x',
  });
});

test('a stream that ends without a reason is incomplete', () => {
  const reader = createReader();
  reader.read(text('a') + DONE);
  expect(() => reader.end()).toThrow('ended the response before it was complete');
});
