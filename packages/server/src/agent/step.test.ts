import { describe, expect, test } from 'vitest';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import { Secrets } from '../secrets/secrets.ts';
import { type AgentRun, Handover, type Limits } from './agent-run.ts';
import { type Model, ModelError, type StepPart, type StepRequest } from './model/model.ts';
import { Progress } from './progress.ts';
import { streamStep } from './step.ts';
import { ToolSet } from './tools/tool.ts';

const NO_TOKENS = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

const finish = (text: string): StepPart => ({
  type: 'finish',
  content: [{ type: 'text', text }],
  usage: NO_TOKENS,
  reason: 'stop',
});
const passing = new ModelError('provider_unavailable', 'try later', { retryable: true, retryAfterMs: 1 });
const final = new ModelError('provider_auth', 'wrong key', { retryable: false });

type Play = (request: StepRequest) => AsyncGenerator<StepPart>;

/** A run of the agent whose model plays one entry per attempt. */
function agentRun(
  tries: Play[],
  options: Partial<Omit<AgentRun, 'limits'>> & { limits?: Partial<Limits> } = {},
) {
  const records: LogRecord[] = [];
  const outcomes: string[] = [];
  const progress = new Progress();
  let tried = 0;
  const model: Model = {
    name: 'fake',
    streamStep: (request) => tries[Math.min(tried++, tries.length - 1)]!(request),
  };
  const run: AgentRun = {
    progress,
    model,
    tools: () => new ToolSet([]),
    gate: () => ({ kind: 'allow' }),
    systemPrompt: 'be good',
    signal: new AbortController().signal,
    draining: new AbortController().signal,
    async append(...added: NewRecord[]) {
      const stored = added.map(
        (record) => ({ ...record, pos: records.length, seq: null, at: 0 }) as LogRecord,
      );
      records.push(...stored);
      for (const record of stored) progress.apply(record);
      return stored;
    },
    keepFiles: () => expect.unreachable(),
    newsOf: () => expect.unreachable(),
    answerApproval: () => expect.unreachable(),
    answerCalls: () => expect.unreachable(),
    isGranted: () => expect.unreachable(),
    checkValue: () => expect.unreachable(),
    nextPost: () => expect.unreachable(),
    waitWithSandbox: () => expect.unreachable(),
    stepEnded: ({ outcome }) => outcomes.push(outcome),
    secrets: new Secrets(['hush-hush']),
    now: () => 0,
    ...options,
    limits: {
      maxSteps: 9,
      maxTokens: 0,
      contextTokens: 0,
      modelRetries: 3,
      modelIdleMs: 60_000,
      approvalTimeoutMs: 1000,
      clientToolTimeoutMs: 600_000,
      ...options.limits,
    },
  };
  const events = () => records.map(({ event }) => event);
  return { run, records, events, outcomes, tried: () => tried };
}

/** As the loop does for a step that is not the last one. */
async function completeStep(run: AgentRun): Promise<void> {
  const { records } = await streamStep(run);
  await run.append(...records);
}

const fails = (error: Error, ...before: StepPart[]): Play =>
  async function* () {
    yield* before;
    throw error;
  };
const says = (...parts: StepPart[]): Play =>
  async function* () {
    yield* parts;
  };

describe('a step that works', () => {
  test('shows its text, then becomes durable as a whole', async () => {
    const { run, records, events } = agentRun([
      says({ type: 'text', delta: 'hel' }, { type: 'text', delta: 'lo' }, finish('hello')),
    ]);
    await completeStep(run);
    const deltas = records.map((record) => (record.event === 'message.delta' ? record.public.delta : ''));
    expect(deltas.join('')).toBe('hello');
    expect(events().at(-1)).toBe('step.completed');
    expect(run.progress.answer).toMatchObject({ content: [{ text: 'hello' }], reason: 'stop' });
  });

  test('tells how long the model took, without failed attempts, and what this step alone used', async () => {
    let now = 1000;
    const takes = (ms: number, play: Play): Play =>
      async function* (request) {
        now += ms;
        yield* play(request);
      };
    const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
    const ends = says({ ...finish('a'), usage, reason: 'length' } as StepPart);
    const { run, records } = agentRun([takes(9000, fails(passing)), takes(2500, ends), takes(500, ends)], {
      now: () => now,
    });
    await completeStep(run);
    await completeStep(run);
    expect(records.map(({ public: shown }) => shown)).toEqual([
      { step: 1, duration: 2.5, usage, finish_reason: 'length' },
      { step: 2, duration: 0.5, usage, finish_reason: 'length' },
    ]);
  });

  test('reasoning is shown in one piece, at its place between the text', async () => {
    const { run, events } = agentRun([
      says(
        { type: 'reasoning', delta: 'so' },
        { type: 'reasoning_done', text: 'so' },
        { type: 'text', delta: 'a' },
        { type: 'reasoning_done', text: 'hm' },
        { type: 'reasoning_done', text: ' ' },
        { type: 'text', delta: 'b' },
        finish('ab'),
      ),
    ]);
    await completeStep(run);
    expect(events()).toEqual([
      'reasoning.available',
      'message.delta',
      'reasoning.available',
      'message.delta',
      'step.completed',
    ]);
  });

  test("instructions are added to the agent's prompt", async () => {
    let asked: StepRequest | undefined;
    const { run } = agentRun([
      async function* (request) {
        asked = request;
        yield finish('x');
      },
    ]);
    run.progress.request = { prompt: 'go', instructions: 'in rhyme', session_named: false };
    await completeStep(run);
    expect(asked!.messages).toEqual([
      { role: 'system', content: 'be good\n\nin rhyme' },
      { role: 'user', content: 'go' },
    ]);
  });
});

describe('a step that fails', () => {
  test('is retried as often as allowed, then fails with the code of the last error', async () => {
    const { run, events, tried } = agentRun([fails(passing)], { limits: { modelRetries: 2 } });
    await expect(completeStep(run)).rejects.toMatchObject({
      name: 'RunFailure',
      code: 'provider_unavailable',
    });
    expect(tried()).toBe(3);
    expect(events()).toEqual([]);
  });

  test('continues when a retry works', async () => {
    const { run, tried, outcomes } = agentRun([fails(passing), fails(passing), says(finish('at last'))]);
    await completeStep(run);
    expect(tried()).toBe(3);
    expect(outcomes).toEqual(['provider_unavailable', 'provider_unavailable', 'completed']);
  });

  test('is not retried when no retry can help', async () => {
    const { run, tried } = agentRun([fails(final)]);
    await expect(completeStep(run)).rejects.toMatchObject({ code: 'provider_auth', message: 'wrong key' });
    expect(tried()).toBe(1);
  });

  test('is not retried after text or reasoning was shown, and what was shown stays on record', async () => {
    for (const part of [
      { type: 'text', delta: 'once upon' },
      { type: 'reasoning_done', text: 'hm' },
    ] satisfies StepPart[]) {
      const { run, tried, events } = agentRun([fails(passing, part), says(finish('again'))]);
      await expect(completeStep(run)).rejects.toMatchObject({ code: 'provider_unavailable' });
      expect(tried()).toBe(1);
      expect(events()).toHaveLength(1);
    }
  });

  test('is retried after reasoning that was not shown yet', async () => {
    const { run, tried } = agentRun([
      fails(passing, { type: 'reasoning', delta: 'let me' }),
      says(finish('x')),
    ]);
    await completeStep(run);
    expect(tried()).toBe(2);
  });

  test('an answer without a finish is a failure', async () => {
    const { run } = agentRun([says({ type: 'text', delta: 'half' })]);
    await expect(completeStep(run)).rejects.toMatchObject({ code: 'provider_error' });
  });

  test('its message is masked', async () => {
    const { run } = agentRun([
      fails(new ModelError('provider_error', 'key hush-hush', { retryable: false })),
    ]);
    await expect(completeStep(run)).rejects.toThrow('key [redacted]');
  });

  test('an error that is not the model’s is passed on as it is', async () => {
    const { run, tried } = agentRun([fails(new TypeError('a bug'))]);
    await expect(completeStep(run)).rejects.toThrow(TypeError);
    expect(tried()).toBe(1);
  });

  test("a store that refuses a delta ends the step with the store's error", async () => {
    const { run } = agentRun(
      [says({ type: 'text', delta: 'a' }, { type: 'text', delta: 'b' }, finish('ab'))],
      {
        append: async () => {
          throw new Error('lease lost');
        },
      },
    );
    await expect(completeStep(run)).rejects.toThrow('lease lost');
  });
});

describe('a conversation that is too long', () => {
  const overflow = new ModelError('context_overflow', 'too long', { retryable: false });
  const long = 'x'.repeat(400);
  const history = Array.from({ length: 8 }, (_, i) => ({ role: 'user' as const, content: `${i}${long}` }));

  /** A run with 8 messages of about 100 tokens each before its prompt, and the messages that its model got. */
  function longRun(contextTokens: number, tries: Play[]) {
    const asked: StepRequest[] = [];
    const listening = tries.map(
      (play): Play =>
        (request) => {
          asked.push(request);
          return play(request);
        },
    );
    const made = agentRun(listening, { limits: { contextTokens } });
    made.run.progress.request = { prompt: 'go', history, session_named: true };
    /** The first characters of each message that the model got, without the system prompt. */
    const given = () =>
      asked.map(({ messages }) =>
        messages.slice(1).map((message) => ('content' in message ? String(message.content).slice(0, 2) : '')),
      );
    return { ...made, given };
  }

  test('is sent whole while it is short enough, or when cutting is off', async () => {
    for (const contextTokens of [1000, 0]) {
      const { run, events, given } = longRun(contextTokens, [says(finish('x'))]);
      await completeStep(run);
      expect(given()[0]).toHaveLength(9);
      expect(events()).toEqual(['step.completed']);
    }
  });

  test('is cut to three quarters of the room, and the cut is recorded before the model is called', async () => {
    const { run, records, given } = longRun(600, [says(finish('x'))]);
    await completeStep(run);
    expect(records.slice(0, 1)).toMatchObject([{ event: 'context.cut', private: { before: 5, omitted: 5 } }]);
    expect(given()).toEqual([['[5', '5x', '6x', '7x', 'go']]);
  });

  test('is not cut again while there is room, nor after a recovery', async () => {
    const { run, records, events, given } = longRun(600, [says(finish('x'))]);
    await completeStep(run);
    await completeStep(run);
    expect(events()).toEqual(['context.cut', 'step.completed', 'step.completed']);
    expect(given()[1]).toEqual([...given()[0]!, '[o']);
    const recovered = longRun(600, [says(finish('x'))]);
    for (const record of records.slice(0, 1)) recovered.run.progress.apply(record);
    await completeStep(recovered.run);
    expect(recovered.given()[0]).toEqual(given()[0]);
    expect(recovered.events()).toEqual(['step.completed']);
  });

  test('is halved as often as the provider refuses it, and that does not count as a retry', async () => {
    const { run, events, given } = longRun(0, [fails(overflow), fails(overflow), says(finish('x'))]);
    await completeStep(run);
    expect(events()).toEqual(['context.cut', 'context.cut', 'step.completed']);
    expect(given()[1]).toEqual(['[5', '5x', '6x', '7x', 'go']);
    expect(given()[2]).toEqual(['[7', '7x', 'go']);
  });

  test('that cannot be cut any more fails the run', async () => {
    const { run, given } = longRun(0, [fails(overflow)]);
    await expect(completeStep(run)).rejects.toMatchObject({ name: 'RunFailure', code: 'context_overflow' });
    expect(given().at(-1)).toEqual(['[8', 'go']);
  });

  test('is not cut after something of the step was shown', async () => {
    const { run, events } = longRun(0, [fails(overflow, { type: 'text', delta: 'once' })]);
    await expect(completeStep(run)).rejects.toMatchObject({ code: 'context_overflow' });
    expect(events()).toEqual(['message.delta']);
  });

  test("keeps the prompt and the calls of the last step when the run's own steps are too long", async () => {
    const { run, given } = longRun(300, [says(finish('x'))]);
    const call = { type: 'tool_call', id: 'a', tool: 'bash', arguments: '{}' } as const;
    run.progress.messages.push(
      { role: 'assistant', content: [{ ...call, id: 'old' }] },
      { role: 'tool', tool_call_id: 'old', tool: 'bash', output: long, is_error: false },
      { role: 'assistant', content: [call] },
      { role: 'tool', tool_call_id: 'a', tool: 'bash', output: long, is_error: false },
    );
    await completeStep(run);
    expect(given()[0]!.slice(0, 2)).toEqual(['go', '[1']);
    expect(given()[0]).toHaveLength(4);
  });
});

describe('a step that is interrupted', () => {
  const long = new ModelError('provider_unavailable', 'later', { retryable: true, retryAfterMs: 100_000 });

  test('in the pause before a retry, by the end of the run: throws the reason', async () => {
    const ended = new AbortController();
    const { run, tried } = agentRun([fails(long), says(finish('unsaid'))], { signal: ended.signal });
    const step = expect(completeStep(run)).rejects.toThrow('stopped');
    setImmediate(() => ended.abort(new Error('stopped')));
    await step;
    expect(tried()).toBe(1);
  });

  test('in the pause before a retry, by a shutdown: hands over', async () => {
    const draining = new AbortController();
    const { run, tried } = agentRun([fails(long), says(finish('unsaid'))], { draining: draining.signal });
    const step = expect(completeStep(run)).rejects.toBeInstanceOf(Handover);
    setImmediate(() => draining.abort());
    await step;
    expect(tried()).toBe(1);
  });

  test('in the middle by a shutdown: the step may finish', async () => {
    const draining = new AbortController();
    draining.abort();
    const { run } = agentRun([says(finish('said'))], { draining: draining.signal });
    await completeStep(run);
    expect(run.progress.steps).toBe(1);
  });

  test('by a model that falls silent, which is aborted', async () => {
    let aborted = false;
    const silent: Play = async function* ({ signal }) {
      yield { type: 'text', delta: 'er' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted = true;
      throw new ModelError('provider_error', 'aborted', { retryable: false });
    };
    const { run } = agentRun([silent], { limits: { modelIdleMs: 30 } });
    await expect(completeStep(run)).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(aborted).toBe(true);
  });

  test.each(['reasoning', 'tool_input'] as const)(
    'by %s that exceeds the token limit of the run',
    async (type) => {
      let closed = false;
      const endless: Play = async function* () {
        try {
          for (;;) yield { type, delta: 'and so on '.repeat(10) };
        } finally {
          closed = true;
        }
      };
      const { run } = agentRun([endless], { limits: { maxTokens: 1000 } });
      await expect(completeStep(run)).rejects.toMatchObject({ code: 'token_limit' });
      expect(closed).toBe(true);
    },
  );
});
