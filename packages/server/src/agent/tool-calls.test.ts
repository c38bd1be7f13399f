import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ToolCallPart } from '../journal/messages.ts';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import { stepRecord } from '../journal/testing/records.ts';
import { Secrets } from '../secrets/secrets.ts';
import { type AgentRun, Handover, Parked } from './agent-run.ts';
import { Progress } from './progress.ts';
import { runToolCalls } from './tool-calls.ts';
import { type FurtherTools, type Tool, type ToolOutcome, ToolSet } from './tools/tool.ts';
import { workspaceNews } from './workspace-news.ts';

describe('runToolCalls', () => {
  test('a stop that ends an approved call before the others leaves no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const collect = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', collect);
    onTestFinished(() => void process.off('unhandledRejection', collect));

    const stop = new AbortController();
    const slow = Promise.withResolvers<ToolOutcome>();
    const gatedStarted = Promise.withResolvers<void>();
    const run = agentRun({
      signal: stop.signal,
      tools: {
        slow: () => slow.promise,
        gated: (signal) => {
          gatedStarted.resolve();
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve(killed)));
        },
      },
      gated: 'gated',
    });
    run.step(call('slow'), call('gated'));

    const calls = runToolCalls(run);
    const ended = expect(calls).rejects.toThrow('stopped');
    await run.answer('once');
    await gatedStarted.promise;
    stop.abort(new Error('stopped'));
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    slow.resolve(killed);
    await ended;
    await nextTurn();
    expect(unhandled).toEqual([]);
  });

  test('the first 64 calls of a step run, also when some ran before; the model is told of the others', async () => {
    let ran = 0;
    const run = agentRun({
      signal: new AbortController().signal,
      tools: {
        count: async () => {
          ran += 1;
          return { output: 'counted', isError: false };
        },
      },
    });
    run.step(...Array.from({ length: 70 }, (_, n) => call('count', `call_${n}`)));
    for (let n = 0; n < 10; n += 1) run.complete(`call_${n}`);

    await runToolCalls(run);

    expect(ran).toBe(54);
    const told = run.progress.messages.filter((message) => message.role === 'tool');
    expect(told).toHaveLength(70);
    expect(told.slice(0, 64).map(({ is_error }) => is_error)).not.toContain(true);
    for (const { is_error, output } of told.slice(64)) {
      expect(is_error).toBe(true);
      expect(output).toMatch(/at most 64 tool calls.*It was not run/);
    }
  });

  test('an approved call is prepared again: what it needs may have changed while it waited', async () => {
    const present: Tool[] = [];
    const run = agentRun({
      signal: new AbortController().signal,
      tools: {},
      further: { list: () => present, whyMissing: () => 'not there yet' },
    });
    const asking = tool('late', async () => ({ output: 'here', isError: false }));
    present.push({
      ...asking,
      prepare: (...given) => ({ ...asking.prepare(...given), question: { text: 'late {}', key: 'late' } }),
    });
    run.step(call('late'));
    await expect(runToolCalls(run)).rejects.toThrow(Parked);
    expect(run.progress.outstanding).toMatchObject({ command: 'late {}', pattern_keys: ['late'] });
    present[0] = tool('late', async () => ({ output: 'another by now', isError: false }));
    await run.answer('once');
    await runToolCalls(run);
    expect(run.progress.messages.at(-1)).toMatchObject({ role: 'tool', output: 'another by now' });
  });

  test('a run is parked until its question expires, but only when none of its calls runs any more', async () => {
    const free = Promise.withResolvers<ToolOutcome>();
    const run = agentRun({
      signal: new AbortController().signal,
      tools: { gated: async () => ({ output: 'ran', isError: false }), free: () => free.promise },
      gated: 'gated',
    });
    run.step(call('gated'), call('free'));
    const settled: unknown[] = [];
    const calls = runToolCalls(run).catch((error: unknown) => void settled.push(error));
    while (run.progress.outstanding === undefined) await nextTurn();
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(settled).toEqual([]);
    free.resolve({ output: 'free', isError: false });
    await calls;
    expect(settled).toMatchObject([{ name: 'Parked', untilMs: 60_000, seenPostedPos: -1 }]);
    expect(run.progress.calls.map(({ phase }) => phase)).toEqual(['gated', 'done']);
  });

  test('an approved call does not begin while the server shuts down', async () => {
    const drain = new AbortController();
    const run = agentRun({
      signal: new AbortController().signal,
      draining: drain.signal,
      tools: { gated: () => expect.unreachable('the next owner runs it') },
      gated: 'gated',
    });
    run.step(call('gated'));
    await expect(runToolCalls(run)).rejects.toThrow(Parked);
    await run.answer('once');
    drain.abort();
    await expect(runToolCalls(run)).rejects.toThrow(Handover);
    expect(run.progress.calls.map(({ phase }) => phase)).toEqual(['gated']);
  });

  test('a call that lost its sandbox tells the model and clients which files are there now', async () => {
    const workspace = { kind: 'restored', pos: 0, omitted: 0, lost: 'sandbox' } as const;
    const run = agentRun({
      signal: new AbortController().signal,
      tools: { lossy: async () => ({ output: 'It was lost.', isError: true, workspace }) },
    });
    run.step(call('lossy'));
    const shown: unknown[] = [];
    const append = async (...records: NewRecord[]) => {
      shown.push(...records.map((record) => ('public' in record ? record.public : {})));
      return run.append(...records);
    };
    await runToolCalls({ ...run, append });
    expect(run.progress.messages.at(-1)).toMatchObject({
      output: expect.stringMatching(
        /^It was lost\. The files of the workspace were lost with the sandbox and restored/,
      ),
    });
    expect(shown.at(-1)).toMatchObject({ error: true, workspace_restored: true });
  });
});

const killed: ToolOutcome = { output: '', isError: true };

function call(tool: string, id = `call_${tool}`): ToolCallPart {
  return { type: 'tool_call', id, tool, arguments: '{}' };
}

/** A run of the agent over a journal in memory. */
function agentRun(options: {
  signal: AbortSignal;
  draining?: AbortSignal;
  tools: Record<string, (signal: AbortSignal) => Promise<ToolOutcome>>;
  gated?: string;
  further?: FurtherTools;
}) {
  const progress = new Progress();
  let pos = 0;
  let wake = (): void => {};
  const append = (...records: NewRecord[]): LogRecord[] => {
    const stored = records.map((record) => ({ ...record, pos: pos++, seq: null, at: 0 }) as LogRecord);
    for (const record of stored) progress.apply(record);
    return stored;
  };
  const toolSet = new ToolSet(
    Object.entries(options.tools).map(([name, execute]) => tool(name, execute)),
    options.further,
  );
  const run: AgentRun = {
    progress,
    model: { name: 'none', streamStep: () => expect.unreachable('no model is asked') },
    tools: () => toolSet,
    gate: ({ command, question }) => {
      if (question !== undefined) return { kind: 'ask', keys: [question.key] };
      return command === options.gated ? { kind: 'ask', keys: ['danger'] } : { kind: 'allow' };
    },
    limits: {
      maxSteps: 9,
      maxTokens: 0,
      contextTokens: 0,
      modelRetries: 0,
      modelIdleMs: 1000,
      approvalTimeoutMs: 60_000,
      clientToolTimeoutMs: 600_000,
    },
    systemPrompt: '',
    keepFiles: () => expect.unreachable('files are kept after the calls of a step'),
    newsOf: (workspace) => workspaceNews(workspace, progress.outcomes, () => true),
    signal: options.signal,
    draining: options.draining ?? new AbortController().signal,
    append: async (...records) => append(...records),
    answerApproval: () => expect.unreachable('nothing expires'),
    answerCalls: () => expect.unreachable('nothing expires'),
    isGranted: async () => false,
    checkValue: () => expect.unreachable(),
    nextPost: () => new Promise((resolve) => (wake = resolve)),
    waitWithSandbox: () => expect.unreachable('nothing runs in the background'),
    secrets: new Secrets([]),
    stepEnded: () => {},
    now: () => 0,
  };
  return {
    ...run,
    step(...content: ToolCallPart[]): void {
      append(stepRecord(content, undefined, 'tool_calls'));
    },
    complete(toolCallId: string): void {
      append({
        event: 'tool.completed',
        public: { tool: 'count', duration: 0, error: false, preview: '', tool_call_id: toolCallId },
        private: { output: 'counted before' },
      });
    },
    async answer(choice: 'once' | 'deny'): Promise<void> {
      while (progress.outstanding === undefined) await nextTurn();
      const { request_id } = progress.outstanding;
      append({
        event: 'approval.responded',
        public: { choice, resolved: 1, request_id },
        private: { request_ids: [request_id] },
      });
      wake();
    },
  };
}

function tool(name: string, execute: (signal: AbortSignal) => Promise<ToolOutcome>): Tool {
  return {
    definition: { name, description: '', parameters: {} },
    prepare: () => ({ preview: name, command: name, execute }),
  };
}
