/** Properties of the events of any run; the reference is the accumulator of OpenAI's own client. */
import type { ResponseEvent } from '@talaria/protocol';
import { RESPONSE_EVENT_PAYLOADS } from '@talaria/protocol/schemas';
import fc from 'fast-check';
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import { Value } from 'typebox/value';
import { expect, it } from 'vitest';
import type { LogRecord } from '../journal/records.ts';
import { ResponseFold } from './response-fold.ts';
import { anyRun, HEAD, SECRETS } from './testing/runs.ts';

/** The ways to show a run. */
const VIEWS = [
  {},
  { tool_items: 'function_call' },
  { tool_items: 'none' },
  { tells_approvals: true },
] as const;
const anyView = fc.constantFrom(...VIEWS);
type View = (typeof VIEWS)[number];

function fold(log: readonly LogRecord[], view: View) {
  const folding = new ResponseFold({ ...HEAD, settings: { ...HEAD.settings, ...view } }, SECRETS);
  const events: ResponseEvent[] = folding.open();
  for (const record of log) events.push(...folding.apply(record));
  return { events, response: folding.response };
}

const always = (holds: (log: LogRecord[], view: View) => void | Promise<void>) =>
  fc.assert(
    fc.asyncProperty(anyRun, anyView, async (log, view) => holds(log, view)),
    { numRuns: 40 },
  );

it('are numbered from 0 without gaps, and match the schemas', () =>
  always((log, view) => {
    for (const [i, event] of fold(log, view).events.entries()) {
      const { type, sequence_number, ...payload } = event;
      expect(sequence_number).toBe(i);
      expect(Value.Check(RESPONSE_EVENT_PAYLOADS[type], payload)).toBe(true);
    }
  }));

it('add each item at the next index, fill it while it is open, and close it once', () =>
  always((log, view) => {
    const open = new Map<number, { text: string; done: boolean }>();
    let next = 0;
    for (const event of fold(log, view).events) {
      switch (event.type) {
        case 'response.output_item.added':
          expect(event.output_index).toBe(next++);
          open.set(event.output_index, { text: '', done: false });
          break;
        case 'response.output_text.delta':
          expect(open.get(event.output_index)).toMatchObject({ done: false });
          open.get(event.output_index)!.text += event.delta;
          break;
        case 'response.output_text.done':
          expect(open.get(event.output_index)).toEqual({ text: event.text, done: false });
          open.get(event.output_index)!.done = true;
          break;
        case 'response.output_item.done':
          expect(open.delete(event.output_index)).toBe(true);
          break;
        default:
          if ('output_index' in event) expect(open.has(event.output_index)).toBe(true);
      }
    }
    expect(open.size).toBe(0);
  }));

it('end once, with the response they add up to', () =>
  always((log, view) => {
    const { events, response } = fold(log, view);
    const ends = events.filter(({ type }) => /^response\.(completed|incomplete|failed)$/.test(type));
    expect(ends).toEqual([events.at(-1)]);
    expect(ends[0]).toMatchObject({ response });
  }));

it('add up to the same response without the deltas of complete steps', () =>
  always((log, view) => {
    const settled = log.findLastIndex(({ event }) => event === 'step.completed' || event === 'run.resumed');
    const whole = log.filter(({ event }, i) => event !== 'message.delta' || i > settled);
    expect(fold(whole, view).response).toEqual(fold(log, view).response);
  }));

it("give the same response in OpenAI's client", () =>
  always(async (log, view) => {
    const { events, response } = fold(log, view);
    const lines = events.map((event) => `${JSON.stringify(event)}\n`);
    const body = ReadableStream.from(lines).pipeThrough(new TextEncoderStream());
    const final = await ResponseStream.fromReadableStream(body).finalResponse();
    expect(final).toMatchObject({ ...response, output: final.output });
    expect(final.output.map(({ id, type }) => ({ id, type }))).toEqual(
      response.output.map(({ id, type }) => ({ id, type })),
    );
    const texts = response.output.map((item) => (item.type === 'message' ? item.content[0]!.text : ''));
    expect(final.output_text).toBe(texts.join(''));
  }));
