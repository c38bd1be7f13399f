import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TextMerger } from './merge-text.ts';

const HEAD = { id: 'c', object: 'chat.completion.chunk', model: 'm' };
const frame = (fields: object) => `data: ${JSON.stringify({ ...HEAD, ...fields })}\n\n`;
const chunk = (delta: object, others: object = {}) =>
  frame({ choices: [{ index: 0, delta, finish_reason: null, ...others }] });
const text = (content: string) => chunk({ content });

/** What the merger makes of the stream, if it arrives in these pieces. */
function merged(...pieces: string[]): string {
  const merger = new TextMerger();
  return pieces.map((piece) => merger.push(Buffer.from(piece))).join('') + merger.end();
}

test('text that arrives together leaves as one chunk', () => {
  expect(merged(text('a') + text(' "b"\n') + text('ü'))).toBe(text('a "b"\nü'));
  expect(merged(text('a'), text('b') + text('c'))).toBe(text('a') + text('bc'));
});

test.each([
  ['a role', chunk({ role: 'assistant', content: '' })],
  ['a tool call', chunk({ tool_calls: [{ index: 0, function: { arguments: '"content":"' } }] })],
  ['reasoning', chunk({ content: '', reasoning_content: 'so' })],
  ['the reason of the end', chunk({ content: '' }, { finish_reason: 'stop' })],
  ['probabilities', chunk({ content: 'x' }, { logprobs: { content: [] } })],
  ['usage', frame({ choices: [], usage: { total_tokens: 3 } })],
  ['several answers', frame({ choices: [0, 1].map((index) => ({ index, delta: { content: 'x' } })) })],
  ['the end', 'data: [DONE]\n\n'],
  ['a comment', ': "content":""\n\n'],
  ['an event with a name', `event: x\n${text('x')}`],
  ['no JSON', 'data: {"content":"\n\n'],
])('a chunk with %s passes unchanged, and what surrounds it is not merged across it', (_, other) => {
  expect(merged(text('a') + other + text('b') + other)).toBe(text('a') + other + text('b') + other);
});

test('chunks of different answers are not merged', () => {
  const of = (index: number) => frame({ choices: [{ index, delta: { content: 'x' }, finish_reason: null }] });
  expect(merged(of(0) + of(1) + of(0))).toBe(of(0) + of(1) + of(0));
});

test('wherever the stream is cut, the text and everything else stay the same', () => {
  const parts = fc.array(
    fc.oneof(fc.string({ unit: 'binary' }).map(text), fc.constant(chunk({ role: 'x' }))),
  );
  fc.assert(
    fc.property(parts, fc.array(fc.nat()), (frames, places) => {
      const bytes = Buffer.from(frames.join(''));
      const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
      const merger = new TextMerger();
      let out = '';
      for (const [i, from] of [0, ...cuts].entries()) out += merger.push(bytes.subarray(from, cuts[i]));
      out += merger.end();
      expect(contents(out)).toEqual(contents(frames.join('')));
    }),
  );
});

/** The text between the other chunks. */
function contents(stream: string): string[] {
  const found = [''];
  for (const data of stream.split('\n\n').filter((part) => part !== '')) {
    const { content } = JSON.parse(data.slice('data: '.length)).choices[0].delta;
    if (content === undefined) found.push('');
    else found[found.length - 1] += content;
  }
  return found;
}
