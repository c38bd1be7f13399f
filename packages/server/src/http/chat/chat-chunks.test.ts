import { type EventName, NO_USAGE, TalariaError } from '@talaria/protocol';
import { describe, expect, test } from 'vitest';
import type { EventBatch } from '../../journal/feeds.ts';
import type { Journal, StoredEvent } from '../../journal/journal.ts';
import type { LogRecord } from '../../journal/records.ts';
import { toClientCallId } from '../../responses/call-ids.ts';
import { ChatAnswer } from './chat-answer.ts';
import { ChatChunks } from './chat-chunks.ts';
import { readTakenBack, type TakenBack } from './taken-back.ts';

const RUN_ID = `run_${'a'.repeat(32)}`;
const HEAD = { id: 'chatcmpl-1', created: 7, model: 'm' };
const USAGE = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };

type Told = [event: EventName, payload: object];
const said = (delta: string): Told => ['message.delta', { delta }];
const started = (id: string): Told => [
  'tool.started',
  { tool: 'terminal', preview: `run ${id}`, tool_call_id: id, arguments: {} },
];
const finished = (id: string): Told => ['tool.completed', { tool: 'terminal', tool_call_id: id }];
const resumed = (discard_from_seq?: number): Told => ['run.resumed', { discard_from_seq }];
const COMPLETED: Told = ['run.completed', { output: 'all', usage: USAGE }];

function log(...told: Told[]): StoredEvent[] {
  return told.map(([event, payload], seq) => ({ seq, event, at: 0, payload: JSON.stringify(payload) }));
}

/** The journal of a run with these events, which returns one record per read. */
function logOf(events: StoredEvent[]): Pick<Journal, 'readLog'> {
  const records = events
    .filter(({ event }) => event !== 'message.delta')
    .map(({ payload, ...rest }) => ({ ...rest, pos: rest.seq, public: JSON.parse(payload) }) as LogRecord);
  return { readLog: async (_runId, after) => records.filter(({ pos }) => pos > after).slice(0, 1) };
}

/** What a client reads when the log comes in batches that end before these events. */
function read(events: StoredEvent[], cuts: number[] = [], takenBack: TakenBack[] = []) {
  const chunks = new ChatChunks({ runId: RUN_ID, usageBefore: NO_USAGE, head: HEAD, takenBack });
  let text = '';
  let ended = false;
  for (const [i, from] of [0, ...cuts].entries()) {
    const batch = events.slice(from, cuts[i]);
    const encoded = chunks.encode(batch as unknown as EventBatch);
    text += encoded.bytes.toString();
    ended = encoded.ended;
    if (ended) break;
  }
  const frames = text.split('\n\n').filter(Boolean);
  const data = frames.map((frame) => frame.replace(/^event: .*\n/, '').slice('data: '.length));
  const values = data.filter((json) => json !== '[DONE]').map((json) => JSON.parse(json));
  return {
    ended,
    done: data.at(-1) === '[DONE]',
    content: values.map((value) => value.choices?.[0]?.delta.content ?? '').join(''),
    error: values.at(-1)?.error,
    finish: values.at(-1)?.choices[0].finish_reason,
    values,
  };
}

test('the batches of the log make no difference', () => {
  const events = log(
    said('a'),
    started('1'),
    started('2'),
    finished('2'),
    finished('1'),
    said('b'),
    COMPLETED,
  );
  const whole = read(events);
  expect(whole).toMatchObject({ ended: true, done: true, content: 'a\n\nb' });
  expect(whole.values.map(({ label, status }) => label && `${label} ${status}`).filter(Boolean)).toEqual([
    'run 1 running',
    'run 2 running',
    'run 2 completed',
    'run 1 completed',
  ]);
  for (let cut = 1; cut < events.length; cut++) expect(read(events, [cut])).toEqual(whole);
});

test('every frame is a chunk for clients that know nothing else', () => {
  const asked: Told = ['approval.request', { request_id: 'apr_1', command: 'rm -r x', choices: ['once'] }];
  const answered: Told = ['approval.responded', { choice: 'once', resolved: 1 }];
  const { values } = read(log(said('a'), started('1'), asked, answered, finished('1'), COMPLETED));
  for (const { choices, ...chunk } of values) {
    expect(chunk).toMatchObject({ ...HEAD, object: 'chat.completion.chunk' });
    expect(choices).toMatchObject([{ index: 0, delta: {} }]);
  }
});

test('there is no blank line before the first text, nor within a step', () => {
  expect(read(log(started('1'), finished('1'), said('a'), said('b'), COMPLETED)).content).toBe('ab');
});

describe('a step that is repeated', () => {
  const events = log(said('kept '), started('1'), said('lost'), resumed(2), said('found'), COMPLETED);

  test('is shown once to a reader that comes after the repetition', () => {
    expect(read(events)).toMatchObject({ done: true, content: 'kept \n\nfound' });
  });

  test('is shown once however long it is, when the log already shows the repetition', async () => {
    const takenBack = await readTakenBack(logOf(events), RUN_ID);
    for (let cut = 1; cut < events.length; cut++) {
      expect(read(events, [cut], takenBack)).toMatchObject({ done: true, content: 'kept \n\nfound' });
    }
    expect(await readTakenBack(logOf(log(said('a'), resumed(), COMPLETED)), RUN_ID)).toEqual([]);
  });

  test('ends the stream of a reader that has seen it with an error that names the run', () => {
    const { ended, done, error, content } = read(events, [3]);
    expect({ ended, done, content }).toEqual({ ended: true, done: true, content: 'kept \n\nlost' });
    expect(error).toMatchObject({ code: 'internal_error', message: expect.stringContaining(RUN_ID) });
  });

  test('does not matter to a reader that has not seen it: the stream continues', () => {
    expect(read(log(said('a'), resumed(), said('b'), COMPLETED), [1])).toMatchObject({ done: true });
    expect(read(log(said('a'), resumed(1), said('b'), COMPLETED), [1])).toMatchObject({ content: 'ab' });
  });

  test('is left out of a truncated answer without streaming', () => {
    const answer = new ChatAnswer({ runId: RUN_ID, usageBefore: NO_USAGE });
    const end: Told = ['run.failed', { error: 'x', error_code: 'output_truncated', usage_so_far: USAGE }];
    for (const event of log(said('lost'), resumed(0), said('fo'), said('und'), end)) answer.take(event);
    expect(answer.result(HEAD)).toMatchObject({
      completion: { choices: [{ message: { content: 'found' }, finish_reason: 'length' }] },
    });
  });
});

test('a failure is also a frame of its own for a client that overlooks it in a chunk', () => {
  const options = { runId: RUN_ID, usageBefore: NO_USAGE, head: HEAD, errorsAlone: true };
  const bytes = new ChatChunks(options).interrupted(new TalariaError('gateway_draining'));
  const [alone, chunk] = bytes.toString().split('\n\n');
  const { error, ...others } = JSON.parse(alone!.slice('data: '.length));
  expect(error).toMatchObject({ code: 'gateway_draining', type: 'invalid_request_error' });
  expect(others).toEqual({});
  expect(JSON.parse(chunk!.slice('data: '.length))).toMatchObject({ choices: [{ finish_reason: 'error' }] });
});

test('a stream that the server cuts off names the run at its end', () => {
  const bytes = new ChatChunks({ runId: RUN_ID, usageBefore: NO_USAGE, head: HEAD }).interrupted(
    new TalariaError('gateway_draining'),
  );
  const [last, done] = bytes.toString().split('\n\n');
  expect(done).toBe('data: [DONE]');
  expect(last, 'some clients know an error by its beginning').toMatch(/^data: \{"error":\{/);
  expect(JSON.parse(last!.slice('data: '.length))).toMatchObject({
    choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
    error: { code: 'gateway_draining', message: expect.stringContaining(RUN_ID) },
  });
});

describe('a run that waits for its client', () => {
  const call = { tool_call_id: 'a', tool: 'weather', arguments: { city: 'Oslo' }, expires_at: 9 };
  const client: Told = [
    'tool.started',
    { tool: 'weather', preview: '', tool_call_id: 'a', arguments: {}, client: true },
  ];
  const waiting: Told = ['run.waiting', { calls: [call], usage_so_far: USAGE }];

  test('ends the completion with its calls, and what follows belongs to another one', () => {
    const events = log(
      said('Let me see'),
      started('1'),
      client,
      finished('1'),
      waiting,
      finished('a'),
      said('late'),
    );
    const { ended, done, content, finish, values } = read(events);
    expect({ ended, done, content, finish }).toEqual({
      ended: true,
      done: true,
      content: 'Let me see',
      finish: 'tool_calls',
    });
    expect(values.slice(-3, -1).map(({ choices }) => choices[0].delta.tool_calls)).toEqual([
      [
        {
          index: 0,
          id: toClientCallId(RUN_ID, 'a'),
          type: 'function',
          function: { name: 'weather', arguments: '' },
        },
      ],
      [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }],
    ]);
    const answer = new ChatAnswer({ runId: RUN_ID, usageBefore: NO_USAGE });
    for (const event of events.slice(0, 5)) answer.take(event);
    expect(answer.result(HEAD)).toMatchObject({
      completion: {
        choices: [
          {
            message: { content: 'Let me see', tool_calls: [{ type: 'function' }] },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { total_tokens: 3 },
      },
    });
  });

  test('has one call in each chunk, with its index', () => {
    const other = { ...call, tool_call_id: 'b', arguments: { city: 'Rome' } };
    const { values } = read(log(['run.waiting', { calls: [call, other], usage_so_far: USAGE }]));
    const asked = values.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
    expect(asked.map(({ index, function: { name, arguments: args } }) => [index, name, args])).toEqual([
      [0, 'weather', ''],
      [0, undefined, '{"city":"Oslo"}'],
      [1, 'weather', ''],
      [1, undefined, '{"city":"Rome"}'],
    ]);
    expect(values.every(({ choices }) => (choices[0].delta.tool_calls ?? []).length <= 1)).toBe(true);
  });

  test("shows no progress of the client's own tools", () => {
    const { values } = read(log(client, finished('a'), COMPLETED));
    expect(values.filter(({ tool }) => tool !== undefined)).toEqual([]);
  });
});

test('frames beside the answer have an event name only for clients that know it', () => {
  const encoded = (namedFrames: boolean) =>
    new ChatChunks({ runId: RUN_ID, usageBefore: NO_USAGE, head: HEAD, namedFrames })
      .encode(log(started('1')) as unknown as EventBatch)
      .bytes.toString();
  expect(encoded(true)).toMatch(/^event: hermes\.tool\.progress\ndata: /);
  expect(encoded(false)).toMatch(/^data: /);
});
