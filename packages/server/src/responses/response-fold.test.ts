import type { ResponseEvent, ResponseObject } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import type { NewRecord } from '../journal/records.ts';
import { toClientCallId } from './call-ids.ts';
import { ResponseFold } from './response-fold.ts';
import {
  accepted,
  answered,
  asked,
  cancelled,
  claimed,
  completed,
  failed,
  finished,
  HEAD,
  resumed,
  SECRET,
  SECRETS,
  said,
  started,
  startedByClient,
  stepped,
  thought,
  toLog,
  waiting,
} from './testing/runs.ts';

function fold(records: readonly NewRecord[], head = HEAD) {
  const folding = new ResponseFold(head, SECRETS);
  const events: ResponseEvent[] = folding.open();
  for (const record of toLog(records)) events.push(...folding.apply(record));
  return { events, response: folding.response };
}

const textsOf = ({ output }: ResponseObject): string[] =>
  output.flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : []));
const types = (events: readonly ResponseEvent[]) => events.map(({ type }) => type);
const TEXT = ['response.output_text.done', 'response.content_part.done', 'response.output_item.done'];

describe('the events of a response', () => {
  it("show an answer in OpenAI's order", () => {
    const run = [accepted, claimed, ...said('Hel', 'lo'), stepped('Hello'), completed('Hello')];
    const { events } = fold(run);
    expect(types(events)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      ...TEXT,
      'response.completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, i) => i));
    expect(events.at(-1)).toMatchObject({
      response: {
        id: HEAD.responseId,
        status: 'completed',
        output: [{ type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'Hello' }] }],
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
        error: null,
        completed_at: 1_700_000_005,
      },
    });
  });

  it('have the text fields that clients read without checking', () => {
    const { events } = fold([accepted, claimed, ...said('Hi'), stepped('Hi'), completed('Hi')]);
    expect(events.filter(({ type }) => type.startsWith('response.output_text.'))).toMatchObject([
      { delta: 'Hi', logprobs: [] },
      { text: 'Hi', logprobs: [] },
    ]);
  });

  it('begin with response.queued for a background response', () => {
    const background = { ...HEAD, settings: { ...HEAD.settings, background: true } };
    expect(fold([accepted], background).events).toMatchObject([
      { response: { status: 'queued', background: true } },
    ]);
    expect(fold([accepted]).events).toMatchObject([{ response: { status: 'in_progress' } }]);
  });

  it('echo the request, without secrets', () => {
    const settings = {
      ...HEAD.settings,
      instructions: `Use ${SECRET} for it.`,
      metadata: { order: '7', [`with ${SECRET}`]: SECRET },
    };
    const fold = new ResponseFold({ ...HEAD, settings }, SECRETS);
    const [created] = fold.open();
    expect(created).toMatchObject({
      response: {
        instructions: 'Use [redacted] for it.',
        metadata: { order: '7', 'with [redacted]': '[redacted]' },
      },
    });
    expect(JSON.stringify(fold.response)).not.toContain(SECRET);
  });

  it('show a call with its arguments, and its whole output, without secrets', () => {
    const call = { id: 'c1', arguments: `{"command":"echo ${SECRET}","token":"abc"}` };
    const output = `${'x'.repeat(2000)} ${SECRET} Bearer abcdef123456`;
    const { events, response } = fold([
      accepted,
      claimed,
      stepped('', [call]),
      started('c1'),
      finished('c1', output),
    ]);
    expect(types(events.slice(2))).toEqual([
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.output_item.done',
    ]);
    expect(response.output).toMatchObject([
      {
        type: 'mcp_call',
        server_label: 'talaria',
        name: 'bash',
        arguments: '{"command":"echo [redacted]","token":"[redacted]"}',
        output: `${'x'.repeat(2000)} [redacted] Bearer [redacted]`,
        error: null,
        status: 'completed',
      },
    ]);
  });

  it('show no call of the server to clients that break on it', () => {
    const without = { ...HEAD, settings: { ...HEAD.settings, tool_items: 'none' as const } };
    const { events, response } = fold(
      [accepted, claimed, stepped('', [{ id: 'c1' }]), started('c1'), finished('c1', 'out')],
      without,
    );
    expect(types(events.slice(2))).toEqual([]);
    expect(response.output).toEqual([]);
  });

  it('show a call in the older form to clients that need it', () => {
    const older = { ...HEAD, settings: { ...HEAD.settings, tool_items: 'function_call' as const } };
    const { events, response } = fold(
      [accepted, claimed, stepped('', [{ id: 'c1' }]), started('c1'), finished('c1', 'out')],
      older,
    );
    expect(types(events.slice(2))).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.output_item.done',
    ]);
    expect(events.at(-2), 'the gem of Hermes reads the output where the item begins').toMatchObject({
      type: 'response.output_item.added',
      item: { type: 'function_call_output', output: 'out' },
    });
    expect(response.output).toMatchObject([
      { type: 'function_call', call_id: 'c1', name: 'bash', arguments: '{}', status: 'completed' },
      { type: 'function_call_output', call_id: 'c1', output: 'out', status: 'completed' },
    ]);
  });

  it('keep calls open side by side, and close failed and unfinished ones as such', () => {
    const calls = [{ id: 'c1' }, { id: 'c2' }, { id: 'c3' }];
    const { events, response } = fold([
      accepted,
      claimed,
      stepped('', calls),
      ...calls.map(({ id }) => started(id)),
      finished('c2', 'second'),
      finished('c1', 'no such file', true),
      failed,
    ]);
    const done = events.flatMap((event) =>
      event.type === 'response.output_item.done' ? [[event.output_index, event.item.status]] : [],
    );
    expect(done).toEqual([
      [1, 'completed'],
      [0, 'failed'],
      [2, 'incomplete'],
    ]);
    expect(response.output).toMatchObject([
      { status: 'failed', output: null, error: 'no such file' },
      { status: 'completed', output: 'second', error: null },
      { status: 'incomplete', output: null, error: expect.any(String) },
    ]);
  });

  it('show arguments that are not JSON as the model wrote them', () => {
    const call = { id: 'c1', arguments: `{"command": ${SECRET}` };
    const { response } = fold([accepted, claimed, stepped('', [call]), started('c1')]);
    expect(response.output).toMatchObject([{ arguments: '{"command": [redacted]' }]);
  });

  it('show a pending approval, and that it was answered', () => {
    const { events, response } = fold([
      accepted,
      claimed,
      stepped('', [{ id: 'c1' }]),
      started('c1', true),
      asked('c1'),
      answered(),
    ]);
    const states = events.flatMap((event) => (event.type === 'response.in_progress' ? [event.response] : []));
    expect(states).toMatchObject([
      { approval: null },
      { approval: { command: 'rm -r x' }, output: [{ type: 'mcp_call' }], run_id: HEAD.runId },
      { approval: null },
    ]);
    expect(response).toMatchObject({ status: 'in_progress', approval: null });
  });

  it('show approvals as text where a person reads them', () => {
    const told = { ...HEAD, settings: { ...HEAD.settings, tells_approvals: true } };
    const { response } = fold(
      [
        accepted,
        claimed,
        stepped('', [{ id: 'c1' }]),
        started('c1', true),
        asked('c1'),
        answered(),
        finished('c1', 'gone'),
        ...said('Done'),
        stepped('Done'),
        completed('Done'),
      ],
      told,
    );
    expect(response.output.map(({ type }) => type)).toEqual(['mcp_call', 'message', 'message', 'message']);
    expect(textsOf(response)).toEqual([
      expect.stringMatching(/Approval needed[\s\S]*rm -r x[\s\S]*talaria approve run_/),
      expect.stringContaining('Approved (once)'),
      'Done',
    ]);
    expect(new Set(response.output.map(({ id }) => id)).size).toBe(4);
  });

  it('show reasoning before the text of the same step', () => {
    const run = [
      accepted,
      claimed,
      ...said('Hm. '),
      thought('First, count.'),
      ...said('Two.'),
      stepped('Hm. Two.'),
      completed('Hm. Two.'),
    ];
    const { events, response } = fold(run);
    expect(response.output).toMatchObject([
      { type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text: 'First, count.' }] },
      { type: 'message', content: [{ text: 'Hm. Two.' }] },
    ]);
    expect(types(events).filter((type) => type.includes('reasoning'))).toEqual([
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
    ]);
    const withoutDeltas = run.filter(({ event }) => event !== 'message.delta');
    expect(fold(withoutDeltas).response.output).toEqual(response.output);
  });

  it('remove the reasoning of a step that was interrupted', () => {
    const { response } = fold([
      accepted,
      claimed,
      thought('lost'),
      claimed,
      resumed,
      thought('found'),
      ...said('a'),
      stepped('a'),
      completed('a'),
    ]);
    expect(response.output).toMatchObject([{ summary: [{ text: 'found' }] }, { type: 'message' }]);
  });

  it('have only the checked answer when the request has an output format', () => {
    const formed = { ...HEAD, settings: { ...HEAD.settings, output_form: {} } };
    const run = [
      accepted,
      claimed,
      stepped('Let me see.', [{ id: 'c1' }]),
      started('c1'),
      finished('c1', 'out'),
      stepped('no JSON'),
      { event: 'answer.refused', private: { problem: 'no JSON' } } as NewRecord,
      stepped('```{"a":1}```'),
      ...said('{"a":1}'),
      completed('{"a":1}'),
    ];
    const { response } = fold(run, formed);
    expect(textsOf(response)).toEqual(['{"a":1}']);
    expect(response).toMatchObject({
      text: { format: { type: 'json_object' } },
      output: [{ type: 'mcp_call' }, { type: 'message', status: 'completed' }],
    });
    // Interrupted before its end: the answer is checked and shown again.
    const again = [...run.slice(0, -1), claimed, resumed, ...run.slice(-2)];
    expect(textsOf(fold(again, formed).response)).toEqual(['{"a":1}']);
  });

  it('end where the run waits for its client, with the calls for it', () => {
    const { events, response } = fold([
      accepted,
      claimed,
      ...said('I ask.'),
      stepped('I ask.', [{ id: 'c1' }, { id: 'c2' }]),
      startedByClient('c1'),
      started('c2'),
      finished('c2', 'out'),
      waiting('c1'),
      claimed,
      finished('c1', 'snow'),
      ...said('It snows'),
      stepped('It snows'),
      completed('It snows'),
    ]);
    expect(events.at(-1)!.type).toBe('response.completed');
    expect(response).toMatchObject({
      status: 'completed',
      usage: { total_tokens: 5 },
      output: [
        { type: 'message', status: 'completed' },
        { type: 'mcp_call', output: 'out' },
        {
          type: 'function_call',
          call_id: toClientCallId(HEAD.runId, 'c1'),
          name: 'get_weather',
          arguments: '{"city":"Oslo"}',
          status: 'completed',
        },
      ],
    });
  });

  it('close interrupted text, and repeat it as another item', () => {
    const { events, response } = fold([
      accepted,
      claimed,
      ...said('Hel'),
      claimed,
      resumed,
      ...said('Hello'),
      stepped('Hello'),
      completed('Hello'),
    ]);
    const items = events.flatMap((event) =>
      event.type === 'response.output_item.done' ? [{ index: event.output_index, ...event.item }] : [],
    );
    expect(items).toMatchObject([
      { index: 0, status: 'incomplete', content: [{ text: 'Hel' }] },
      { index: 1, status: 'completed', content: [{ text: 'Hello' }] },
    ]);
    expect(items[0]!.id).not.toBe(items[1]!.id);
    expect(response.output).toMatchObject([{ id: items[1]!.id, content: [{ text: 'Hello' }] }]);
  });

  it('keep an answer whose end was interrupted', () => {
    const { response } = fold([
      accepted,
      claimed,
      ...said('Hello'),
      stepped('Hello'),
      claimed,
      resumed,
      completed('Hello'),
    ]);
    expect(response.output).toMatchObject([{ status: 'completed', content: [{ text: 'Hello' }] }]);
  });

  it('end with response.failed and the reason when the run fails', () => {
    const { events, response } = fold([accepted, claimed, ...said('Hel'), failed]);
    expect(types(events).slice(-4)).toEqual([...TEXT, 'response.failed']);
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'provider_error', message: 'no luck' },
      output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
      completed_at: null,
    });
  });

  it.each([
    ['output_truncated', 'max_output_tokens'],
    ['content_filtered', 'content_filter'],
  ])('end with response.incomplete when the answer was truncated: %s', (error_code, reason) => {
    const cutShort: NewRecord = { event: 'run.failed', public: { error: 'cut', error_code } };
    const { events, response } = fold([accepted, claimed, ...said('Hel'), stepped('Hel'), cutShort]);
    expect(events.at(-1)!.type).toBe('response.incomplete');
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
      error: null,
      output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
    });
  });

  it('end with response.failed when the run is stopped, because OpenAI has no other name for it', () => {
    const { events, response } = fold([accepted, claimed, asked('c1'), cancelled]);
    expect(events.at(-1)!.type).toBe('response.failed');
    expect(response).toMatchObject({ status: 'cancelled', error: { code: 'run_cancelled' }, approval: null });
  });
});

describe('a response that is not finished', () => {
  it('is queued until a worker has it, then in progress', () => {
    expect(fold([accepted]).response.status).toBe('queued');
    expect(fold([accepted, claimed]).response.status).toBe('in_progress');
  });

  it('has the text so far', () => {
    const { response } = fold([accepted, claimed, ...said('Hel')]);
    expect(response).toMatchObject({
      output: [{ status: 'in_progress', content: [{ text: 'Hel' }] }],
      usage: null,
    });
  });
});
