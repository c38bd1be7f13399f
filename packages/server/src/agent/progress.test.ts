import type { ApprovalChoice } from '@talaria/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message, ToolCallPart } from '../journal/messages.ts';
import type { LogRecord, NewRecord, QueuedApproval } from '../journal/records.ts';
import { stepRecord } from '../journal/testing/records.ts';
import { Progress } from './progress.ts';

const USAGE = { input_tokens: 2, output_tokens: 1, total_tokens: 3 };

function log(records: readonly (NewRecord | LogRecord)[]): LogRecord[] {
  return records.map((record, pos) => ({ ...record, pos, seq: null, at: 1000 + pos }) as LogRecord);
}

const accepted: NewRecord = {
  event: 'run.accepted',
  private: { prompt: 'go', session_named: false },
};
const claimed = (epoch: number): NewRecord => ({ event: 'run.claimed', private: { epoch } });
const call = (id: string): ToolCallPart => ({ type: 'tool_call', id, tool: 'terminal', arguments: '{}' });

function step(...calls: string[]): NewRecord {
  const content = calls.length > 0 ? calls.map(call) : [{ type: 'text' as const, text: 'answer' }];
  return stepRecord(content, USAGE);
}

function started(id: string, gated = false): NewRecord {
  const shown = { tool: 'terminal', preview: '', tool_call_id: id, arguments: {} };
  return { event: 'tool.started', public: shown, private: { gated } };
}

function completed(id: string, output = `output of ${id}`): NewRecord {
  const shown = { tool: 'terminal', duration: 0, error: false, preview: '', tool_call_id: id };
  return { event: 'tool.completed', public: shown, private: { output } };
}

test('the calls of the present owner are those that ended since it has claimed the run, whoever made them', () => {
  const released: NewRecord = { event: 'run.released', private: { epoch: 1, parked: true } };
  const progress = Progress.replay(
    log([
      accepted,
      claimed(1),
      step('a'),
      started('a'),
      completed('a'),
      step('b', 'c'),
      started('b', true),
      started('c'),
      completed('c'),
      queued('b'),
      asked('b'),
      released,
      answered('once', 'b'),
      claimed(2),
      completed('b'),
    ]).map((record) => ({ ...record, seq: record.pos }) as LogRecord),
  );
  const outputs = (pos: number) => progress.callsSince(pos).map(({ output }) => output);
  expect(outputs(progress.claimedPos)).toEqual(['output of b']);
  expect(outputs(progress.claimedBeforePos)).toEqual(['output of a', 'output of b', 'output of c']);
});

function question(id: string): QueuedApproval {
  return {
    request_id: `apr_${id}`,
    tool_call_id: id,
    command: 'rm',
    pattern_key: 'k',
    pattern_keys: ['k'],
    description: 'k',
    choices: ['once', 'deny'],
  };
}

const queued = (...ids: string[]): NewRecord => ({
  event: 'approval.queued',
  private: { approvals: ids.map(question) },
});
const asked = (id: string): NewRecord => ({
  event: 'approval.request',
  public: { ...question(id), expires_at: 99 },
});
const answered = (choice: ApprovalChoice, ...ids: string[]): NewRecord => ({
  event: 'approval.responded',
  public: { choice, resolved: ids.length, request_id: `apr_${ids[0]}` },
  private: { request_ids: ids.map((id) => `apr_${id}`) },
});
const executing = (id: string): NewRecord => ({ event: 'tool.executing', private: { tool_call_id: id } });
const phases = (progress: Progress) => progress.calls.map(({ phase }) => phase);

describe('tool calls', () => {
  test('an ungated call runs from its start; a gated one waits until it is executing', () => {
    const records = log([
      accepted,
      claimed(1),
      step('a', 'b'),
      started('a'),
      started('b', true),
      queued('b'),
    ]);
    const progress = Progress.replay(records);
    expect(phases(progress)).toEqual(['running', 'gated']);
    expect(progress.calls[1]!.approval).toEqual(question('b'));
    expect(progress.calls[0]!.startedAt).toBe(1003);

    const more = log([...records, asked('b'), answered('once', 'b'), executing('b')]).slice(records.length);
    progress.apply(more[0]!);
    expect(progress.outstanding?.request_id).toBe('apr_b');
    progress.apply(more[1]!);
    expect(progress.outstanding).toBeUndefined();
    expect(progress.decisions.get('apr_b')).toMatchObject({ choice: 'once' });
    expect(phases(progress)).toEqual(['running', 'gated']);
    progress.apply(more[2]!);
    expect(phases(progress)).toEqual(['running', 'running']);
  });

  test('the results join the conversation when all have arrived, in the order of the calls', () => {
    const head = [accepted, claimed(1), step('a', 'b'), started('a'), started('b')];
    const half = Progress.replay(log([...head, completed('b')]));
    expect(half.messages).toHaveLength(1);
    expect(phases(half)).toEqual(['running', 'done']);
    const whole = Progress.replay(log([...head, completed('b'), completed('a')]));
    expect(whole.calls).toEqual([]);
    expect(whole.messages.slice(1)).toMatchObject([
      { role: 'tool', tool_call_id: 'a', output: 'output of a' },
      { role: 'tool', tool_call_id: 'b', output: 'output of b' },
    ]);
  });

  test('an answer to several questions decides them all; a waived one counts as allowed', () => {
    const progress = Progress.replay(
      log([
        accepted,
        step('a', 'b', 'c'),
        queued('a', 'b', 'c'),
        asked('a'),
        answered('deny', 'a', 'b'),
        { event: 'approval.waived', private: { request_id: 'apr_c' } },
      ]),
    );
    expect([...progress.decisions]).toMatchObject([
      ['apr_a', { choice: 'deny' }],
      ['apr_b', { choice: 'deny' }],
      ['apr_c', { choice: 'once' }],
    ]);
  });
});

describe('the conversation', () => {
  test('history, earlier turns and the prompt come first, then the messages since', () => {
    const progress = Progress.replay(
      log([
        {
          event: 'run.accepted',
          private: {
            prompt: 'now',
            session_named: true,
            history: [
              { role: 'system', content: 'rules' },
              { role: 'user', content: 'before' },
              { role: 'assistant', content: [{ type: 'text', text: 'reply' }] },
            ],
          },
        },
        { event: 'run.context', private: { messages: [{ role: 'user', content: 'last turn' }] } },
        step(),
      ]),
    );
    expect(progress.transcript()).toEqual([
      { role: 'system', content: 'rules' },
      { role: 'user', content: 'before' },
      { role: 'assistant', content: [{ type: 'text', text: 'reply' }] },
      { role: 'user', content: 'last turn' },
      { role: 'user', content: 'now' },
      { role: 'assistant', content: [{ type: 'text', text: 'answer' }] },
    ]);
    expect(progress.answer?.reason).toBe('stop');
  });

  test('the turn is what the session does not hold yet', () => {
    const asked = { event: 'run.accepted', private: { prompt: 'now', session_named: true } } as const;
    const earlier: Message = { role: 'user', content: 'last turn' };
    const added = [
      { role: 'user', content: 'now' },
      { role: 'assistant', content: [{ type: 'text', text: 'answer' }] },
    ];

    const inSession = Progress.replay(
      log([asked, { event: 'run.context', private: { session: { from: 4, to: 5 } } }, step()]),
    );
    expect(inSession.contextRange).toEqual({ from: 4, to: 5 });
    inSession.context = [earlier];
    expect(inSession.transcript()).toEqual([earlier, ...added]);
    expect(inSession.turn()).toEqual({ messages: added, replaces: false });

    const inNone = Progress.replay(
      log([asked, { event: 'run.context', private: { messages: [earlier] } }, step()]),
    );
    expect(inNone.turn()).toEqual({ messages: [earlier, ...added], replaces: false });

    const history = [{ role: 'user' as const, content: 'given' }];
    const given = Progress.replay(log([{ ...asked, private: { ...asked.private, history } }, step()]));
    expect(given.turn()).toEqual({ messages: [...history, ...added], replaces: true });
  });

  test('steering undoes the answer, once, and reaches the model unmasked', () => {
    const requested: NewRecord = { event: 'steer.requested', private: { input: 'also the secret' } };
    const records = log([accepted, step(), requested]);
    const progress = Progress.replay(records);
    expect(progress.steers).toEqual([{ pos: 2, input: 'also the secret' }]);
    expect(progress.lastPostedPos).toBe(2);
    progress.apply(
      log([
        ...records,
        { event: 'run.steered', public: { input: 'also the [redacted]' }, private: { steer_pos: 2 } },
      ])[3]!,
    );
    expect(progress.steers).toEqual([]);
    expect(progress.answer).toBeUndefined();
    expect(progress.messages.at(-1)).toEqual({ role: 'user', content: 'also the secret' });
  });
});

test('a notice joins the conversation, but never between calls and their results or after the answer', () => {
  const notice: NewRecord = { event: 'run.noticed', private: { text: 'restarted' } };
  const told = { role: 'user', content: 'restarted' };
  const roles = (records: NewRecord[]) => Progress.replay(log(records)).messages.map(({ role }) => role);
  expect(Progress.replay(log([accepted, notice])).messages).toEqual([told]);
  const open = [accepted, step('a'), started('a'), notice];
  expect(roles(open)).toEqual(['assistant']);
  expect(Progress.replay(log([...open, completed('a')])).messages.at(-1)).toEqual(told);
  expect(roles([...open, completed('a'), step()])).toEqual(['assistant', 'tool', 'user', 'assistant']);
  expect(roles([accepted, step(), notice])).toEqual(['assistant']);
  const steered: NewRecord = { event: 'run.steered', public: { input: 'more' }, private: { steer_pos: 9 } };
  expect(Progress.replay(log([accepted, step(), notice, steered])).messages.slice(1)).toEqual([
    told,
    { role: 'user', content: 'more' },
  ]);
});

test('the end of a step, or a resumption, settles what the step has shown', () => {
  const delta: NewRecord = { event: 'message.delta', public: { delta: 'x' } };
  expect(Progress.replay(log([accepted, claimed(1), delta])).settledPos).toBe(-1);
  expect(Progress.replay(log([accepted, claimed(1), delta, step()])).settledPos).toBe(3);
  const resumed: NewRecord = { event: 'run.resumed', public: {} };
  const again = Progress.replay(log([accepted, claimed(1), delta, claimed(2), resumed, delta]));
  expect(again.settledPos).toBe(4);
  expect(again.claims).toBe(2);
});

test('a replay and the same records one by one give the same state, wherever the run was cut off', () => {
  const ids = fc.constantFrom('a', 'b', 'c');
  const record: fc.Arbitrary<NewRecord> = fc.oneof(
    fc.constant(accepted),
    fc.nat({ max: 3 }).map(claimed),
    fc.uniqueArray(ids).map((calls) => step(...calls)),
    fc.tuple(ids, fc.boolean()).map(([id, gated]) => started(id, gated)),
    ids.map((id) => completed(id)),
    fc.uniqueArray(ids, { minLength: 1 }).map((all) => queued(...all)),
    ids.map(asked),
    ids.map(executing),
    fc
      .tuple(
        fc.constantFrom<ApprovalChoice>('once', 'deny', 'session'),
        fc.uniqueArray(ids, { minLength: 1 }),
      )
      .map(([choice, all]) => answered(choice, ...all)),
    fc.string().map((input): NewRecord => ({ event: 'steer.requested', private: { input } })),
    fc
      .nat({ max: 20 })
      .map(
        (steer_pos): NewRecord => ({ event: 'run.steered', public: { input: 'x' }, private: { steer_pos } }),
      ),
    fc.constant<NewRecord>({ event: 'stop.requested', private: {} }),
    fc.constant<NewRecord>({ event: 'run.noticed', private: { text: 'note' } }),
    fc.constant<NewRecord>({ event: 'message.delta', public: { delta: 'x' } }),
  );
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), fc.nat({ max: 40 }), (records, cut) => {
      const whole = log(records);
      const resumed = Progress.replay(whole.slice(0, cut));
      for (const rest of whole.slice(cut)) resumed.apply(rest);
      expect(resumed).toEqual(Progress.replay(whole));
      // Text deltas are not read for a recovery.
      expect(Progress.replay(whole.filter(({ event }) => event !== 'message.delta'))).toEqual(resumed);
      const open = resumed.calls.length;
      expect(open === 0 || resumed.calls.some(({ phase }) => phase !== 'done')).toBe(true);
    }),
  );
});

test("a client's call stays the client's after a replay, whatever tools the client has by then", () => {
  const tools = [{ name: 'terminal', description: '', parameters: {} }];
  const withTools: NewRecord = {
    event: 'run.accepted',
    private: { prompt: 'go', session_named: false, client_tools: { tools, choice: 'auto', parallel: true } },
  };
  const handoff = (id: string, terms: object): NewRecord => ({
    event: 'tool.answered',
    private: { tool_call_id: id, output: 'out', error: false, terms },
  });
  const given = Progress.replay(
    log([
      withTools,
      step('c1'),
      started('c1'),
      handoff('c1', {}),
      completed('c1'),
      step('c2'),
      started('c2'),
    ]),
  );
  expect(given.callsBefore().map(({ ofClient }) => ofClient)).toEqual([true, false]);
});

describe('a call that the client took as the answer', () => {
  const waits: NewRecord = {
    event: 'tool.started',
    public: { tool: 'terminal', preview: '', tool_call_id: 'c1', arguments: {}, client: true },
    private: { gated: false, client: { arguments: {}, expires_at: 9 } },
  };
  const output: NewRecord = {
    event: 'tool.answered',
    private: { tool_call_id: 'c1', output: 'out', error: false },
  };

  test('has a result in the transcript', () => {
    const { messages } = Progress.replay(log([accepted, step('c1'), waits])).turn();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(messages.at(-1)).toMatchObject({
      output: expect.stringContaining('as the answer'),
      is_error: false,
    });
  });

  test('is not the answer when its output has come, which the agent has to take first', () => {
    const untaken = (...records: NewRecord[]) => Progress.replay(log([accepted, ...records])).hasUntaken;
    expect(untaken(step('c1'), waits)).toBe(false);
    expect(untaken(step('c1'), waits, output)).toBe(true);
    expect(untaken(step('c1'), waits, output, completed('c1'))).toBe(false);
  });
});

describe('a fork', () => {
  const earlier: Message = { role: 'user', content: 'last turn' };
  const result: Message = {
    role: 'tool',
    tool_call_id: 'a',
    tool: 'terminal',
    output: 'of a',
    is_error: false,
  };
  const inherited: Message[] = [{ role: 'assistant', content: [call('a')] }, result];
  const forked = (more: object): NewRecord => ({
    event: 'run.accepted',
    private: {
      prompt: 'go',
      session_named: true,
      skipped: 2,
      inherited: { messages: inherited, client_calls: [], ...more },
    },
  });

  test('continues the conversation of the other run, and pins both prompts', () => {
    const progress = Progress.replay(log([forked({ input: 'and now' }), step()]));
    const said = [
      { role: 'user', content: 'go' },
      ...inherited,
      { role: 'user', content: 'and now' },
      { role: 'assistant', content: [{ type: 'text', text: 'answer' }] },
    ];
    expect(progress.conversation()).toEqual({ messages: said, prompts: [0, 3], skipped: 2 });
    expect(progress.transcript()).toEqual(said);
    expect(progress.sincePrompt()).toEqual(said.slice(1));
    expect(progress.messages).toHaveLength(1);
    expect(Progress.replay(log([forked({})])).conversation().prompts).toEqual([0]);
  });

  test('keeps the cut of the other run until it makes another', () => {
    const cut = { before: 1, omitted: 3 };
    const records = log([forked({ cut }), { event: 'context.cut', private: { before: 3, omitted: 5 } }]);
    expect(Progress.replay(records.slice(0, 1)).cut).toBe(1);
    expect(Progress.replay(records).cut).toBe(3);
  });

  test('finds the earlier turns in its own session, and adds the rest as one turn', () => {
    const progress = Progress.replay(log([forked({ session: { from: 4, to: 5 } }), step()]));
    expect(progress.contextRange).toEqual({ from: 4, to: 5 });
    progress.context = [earlier];
    expect(progress.turn()).toEqual({ messages: progress.transcript().slice(1), replaces: false });
    expect(progress.conversation().prompts).toEqual([1]);
  });

  test('knows whose calls it has inherited', () => {
    const records = log([forked({ client_calls: ['a'] }), step('b'), started('b')]);
    expect(Progress.replay(records).callsBefore()).toMatchObject([
      { isInherited: true, ofClient: true, output: 'of a' },
      { isInherited: false, ofClient: false },
    ]);
    expect(Progress.replay(records).callsBefore('b')).toHaveLength(1);
  });
});
