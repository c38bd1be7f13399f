import { type Completion, type EventName, TalariaError } from '@talaria/protocol';
import { expect, test } from 'vitest';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import type { TakenBack } from '../chat/taken-back.ts';
import { CompletionChunks } from './completion-chunks.ts';

const HEAD = { id: 'cmpl-1', created: 7, model: 'm' };
const RUN_ID = `run_${'a'.repeat(32)}`;

type Told = [event: EventName, payload: object];
const said = (delta: string): Told => ['message.delta', { delta }];
const COMPLETED: Told = [
  'run.completed',
  { output: 'x', usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } },
];

function make(opening = '', takenBack: TakenBack[] = []): CompletionChunks {
  return new CompletionChunks({ runId: RUN_ID, head: HEAD, opening, takenBack });
}

function parse(bytes: Buffer) {
  const data = bytes.toString().split('\n\n').filter(Boolean);
  expect(data.at(-1)).toBe('data: [DONE]');
  const chunks = data.slice(0, -1).map((frame) => JSON.parse(frame.slice('data: '.length)) as Completion);
  return { chunks, text: chunks.map(({ choices }) => choices[0]!.text).join('') };
}

function read(told: Told[], format = make(), batches = true) {
  const events = told.map(
    ([event, payload], seq): StoredEvent => ({ seq, event, at: 0, payload: JSON.stringify(payload) }),
  );
  const parts = [format.open];
  for (const batch of batches ? events.map((event) => [event]) : [events]) {
    const { bytes, ended } = format.encode(batch as unknown as EventBatch);
    parts.push(bytes);
    if (ended) break;
  }
  return parse(Buffer.concat(parts));
}

test('a blank line separates the texts of two steps, which follow the prefix', () => {
  const tool: Told = ['tool.started', { tool: 't', preview: '', tool_call_id: 'c', arguments: {} }];
  expect(read([tool, said('one'), tool, said('two'), COMPLETED], make('prompt ')).text).toBe(
    'prompt one\n\ntwo',
  );
});

test('repeated text is left out if that is known in time, and is an error otherwise', () => {
  const told: Told[] = [said('cut'), ['run.resumed', { discard_from_seq: 0 }], said('again'), COMPLETED];
  expect(read(told, make(), false).text).toBe('again');
  expect(read(told, make('', [{ from: 0, to: 1 }])).text).toBe('again');
  const { chunks } = read(told);
  expect(chunks.at(-1)).toMatchObject({
    choices: [{ finish_reason: 'error' }],
    error: { message: expect.stringContaining(RUN_ID) },
  });
});

test('a truncated answer has that finish reason, a failure has the error', () => {
  const failed = (error_code: string): Told => ['run.failed', { error: 'why', error_code }];
  expect(read([said('a'), failed('output_truncated')]).chunks.at(-1)).toMatchObject({
    choices: [{ finish_reason: 'length' }],
  });
  expect(read([failed('step_limit')]).chunks.at(-1)).toMatchObject({
    choices: [{ finish_reason: 'error' }],
    error: { message: 'why', code: 'step_limit' },
  });
});

test('a stream that the server cuts off says that the run continues', () => {
  const { chunks } = parse(make().interrupted(new TalariaError('gateway_draining')));
  expect(chunks[0]).toMatchObject({ error: { code: 'gateway_draining' } });
  expect(Object.keys(chunks[0]!)[0], 'some clients know an error by its beginning').toBe('error');
});
