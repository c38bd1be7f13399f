import { type EventName, type Run, type SessionChatEvent, TalariaError } from '@talaria/protocol';
import { expect, test } from 'vitest';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { SessionChatEvents } from './session-chat-events.ts';

const RUN = { run_id: `run_${'a'.repeat(32)}`, session_id: 's', created_at: 1.5 } as Run;
const USAGE = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };

type Told = [event: EventName, payload: object];
const said = (delta: string): Told => ['message.delta', { delta }];

function parse(bytes: Buffer): SessionChatEvent[] {
  return bytes
    .toString()
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(frame)!;
      return { event, ...JSON.parse(data!) };
    });
}

/** The whole stream, with one event in each batch; `cut`: the server ends it after those. */
function read(told: Told[], cut?: TalariaError): SessionChatEvent[] {
  const format = new SessionChatEvents(RUN, 'hello');
  const events = parse(format.open);
  for (const [seq, [event, payload]] of told.entries()) {
    const stored: StoredEvent = { seq, event, at: 2000 + seq, payload: JSON.stringify(payload) };
    const { bytes, ended } = format.encode([stored] as unknown as EventBatch);
    events.push(...parse(bytes));
    expect(ended).toBe(seq === told.length - 1 && cut === undefined);
  }
  return cut === undefined ? events : [...events, ...parse(format.interrupted(cut))];
}

const outline = (events: SessionChatEvent[]) => events.map(({ event }) => event);

test('every event names the session and the run, is numbered from 1, and has its time', () => {
  const events = read([said('a'), ['run.completed', { output: 'a', usage: USAGE }]]);
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(events.map(({ ts }) => ts)).toEqual([1.5, 1.5, 2, 2.001, 2.001, 2.001]);
  for (const event of events) expect(event).toMatchObject({ run_id: RUN.run_id, session_id: 's' });
  expect(outline(events)).toEqual([
    'run.started',
    'message.started',
    'assistant.delta',
    'assistant.completed',
    'run.completed',
    'done',
  ]);
});

test('a stopped run shows the text of its step, without text that a restart repeated', () => {
  const events = read([
    said('kept '),
    said('cut off'),
    ['run.resumed', { discard_from_seq: 1 }],
    said('again'),
    ['run.cancelled', {}],
  ]);
  expect(outline(events).slice(-3)).toEqual(['assistant.completed', 'run.cancelled', 'done']);
  expect(events.at(-3)).toMatchObject({ content: 'kept again', partial: true, interrupted: true });
  expect(outline(events)).toContain('run.resumed');
});

test('text before a tool call is not part of a truncated answer', () => {
  const started = { tool: 't', preview: 'p', tool_call_id: 'c', arguments: { a: 1 } };
  const events = read([said('before'), ['tool.started', started], said('after'), ['run.cancelled', {}]]);
  expect(events.at(-3)).toMatchObject({ content: 'after' });
});

test('a call has its arguments also at its end, and a failed call says so', () => {
  const started = (id: string) => ({ tool: 't', preview: id, tool_call_id: id, arguments: { id } });
  const done = (id: string, error: boolean) => ({
    tool: 't',
    duration: 1,
    error,
    preview: 'r',
    tool_call_id: id,
  });
  const events = read([
    ['tool.started', started('a')],
    ['tool.started', started('b')],
    ['tool.completed', done('b', true)],
    ['tool.completed', done('a', false)],
    ['run.failed', { error: 'why', error_code: 'step_limit' }],
  ]);
  expect(events.find(({ event }) => event === 'tool.failed')).toMatchObject({ args: { id: 'b' } });
  expect(events.find(({ event }) => event === 'tool.completed')).toMatchObject({ args: { id: 'a' } });
  expect(events.slice(-3)).toMatchObject([
    { event: 'error', message: 'why', code: 'step_limit' },
    { event: 'run.failed', error: 'why', error_code: 'step_limit' },
    { event: 'done' },
  ]);
});

test('a stream that the server cuts off says that the run continues, and ends with done', () => {
  const events = read([said('a')], new TalariaError('gateway_draining'));
  expect(events.slice(-2)).toMatchObject([
    { event: 'error', code: 'gateway_draining', message: expect.stringContaining(RUN.run_id) },
    { event: 'done' },
  ]);
});
