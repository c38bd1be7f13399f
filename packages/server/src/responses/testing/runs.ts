/** Runs for tests: the records a worker would write, in order. */
import type { ApprovalRequest, EventName } from '@talaria/protocol';
import fc from 'fast-check';
import type { StoredEvent } from '../../journal/journal.ts';
import type { AssistantPart } from '../../journal/messages.ts';
import type { LogRecord, NewRecord } from '../../journal/records.ts';
import { privateStep, stepRecord } from '../../journal/testing/records.ts';
import { Secrets } from '../../secrets/secrets.ts';
import type { ResponseHead } from '../response-object.ts';

export const SECRET = 'known-secret-value';
export const SECRETS = new Secrets([SECRET]);

export const HEAD: ResponseHead = {
  responseId: `resp_${'a'.repeat(28)}`,
  runId: `run_${'a'.repeat(32)}`,
  afterSeq: -1,
  sessionId: 's1',
  createdAt: 1_700_000_000_500,
  settings: {
    model: 'hermes-agent',
    previous_response_id: null,
    conversation: null,
    instructions: null,
    metadata: {},
    truncation: 'disabled',
    background: false,
    store: true,
    used: {},
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    output_form: null,
    tool_items: 'mcp_call',
    tells_approvals: false,
  },
};

const USAGE = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };

export function toLog(records: readonly NewRecord[]): LogRecord[] {
  let seq = 0;
  return records.map(
    (record, pos) =>
      ({
        ...record,
        pos,
        seq: record.public === undefined ? null : seq++,
        at: HEAD.createdAt + 1000 * pos,
      }) as LogRecord,
  );
}

export const accepted: NewRecord = { event: 'run.accepted', private: { prompt: 'hi', session_named: false } };
export const claimed: NewRecord = { event: 'run.claimed', private: { epoch: 1 } };

export function said(...deltas: string[]): NewRecord[] {
  return deltas.map((delta) => ({ event: 'message.delta', public: { delta } }));
}

export interface Call {
  id: string;
  arguments?: string;
}

export function stepped(text: string, calls: readonly Call[] = []): NewRecord {
  const content: AssistantPart[] = text === '' ? [] : [{ type: 'text', text }];
  for (const call of calls) {
    content.push({ type: 'tool_call', id: call.id, tool: 'bash', arguments: call.arguments ?? '{}' });
  }
  const reason = calls.length > 0 ? 'tool_calls' : 'stop';
  return stepRecord(content, USAGE, reason);
}

export function started(id: string, gated = false): NewRecord {
  const shown = { tool: 'bash', preview: '', tool_call_id: id, arguments: {} };
  return { event: 'tool.started', public: shown, private: { gated } };
}

/** A call of a client tool. */
export function startedByClient(id: string): NewRecord {
  const args = { city: 'Oslo' };
  const shown = {
    tool: 'get_weather',
    preview: '',
    tool_call_id: id,
    arguments: args,
    client: true as const,
  };
  const client = { arguments: args, expires_at: 1_700_000_600 };
  return { event: 'tool.started', public: shown, private: { gated: false, client } };
}

export function waiting(...ids: string[]): NewRecord {
  const calls = ids.map((id) => ({
    tool_call_id: id,
    tool: 'get_weather',
    arguments: { city: 'Oslo' },
    expires_at: 1_700_000_600,
  }));
  return { event: 'run.waiting', public: { calls } };
}

export function thought(text: string): NewRecord {
  return { event: 'reasoning.available', public: { text } };
}

export function finished(id: string, output: string, error = false): NewRecord {
  const shown = { tool: 'bash', duration: 1, error, preview: output.slice(0, 5), tool_call_id: id };
  return { event: 'tool.completed', public: shown, private: { output } };
}

export function asked(id: string): NewRecord {
  const request: ApprovalRequest = {
    request_id: `apr_${'0'.repeat(32)}`,
    tool_call_id: id,
    command: 'rm -r x',
    pattern_key: 'recursive delete',
    pattern_keys: ['recursive delete'],
    description: 'recursive delete',
    choices: ['once', 'session', 'always', 'deny'],
    expires_at: 1_700_000_300,
  };
  return { event: 'approval.request', public: request };
}

export function answered(): NewRecord {
  const request_id = `apr_${'0'.repeat(32)}`;
  const shown = { choice: 'once', resolved: 1, request_id } as const;
  return { event: 'approval.responded', public: shown, private: { request_ids: [request_id] } };
}

export const resumed: NewRecord = { event: 'run.resumed', public: {} };
export const completed = (output: string): NewRecord => ({
  event: 'run.completed',
  public: { output, usage: USAGE },
});
export const failed: NewRecord = {
  event: 'run.failed',
  public: { error: 'no luck', error_code: 'provider_error' },
};
export const cancelled: NewRecord = { event: 'run.cancelled', public: {} };

const pieces = fc.array(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 4 });

/** What a worker that was interrupted in a step leaves, and how the next one begins. */
const cutOff = fc
  .tuple(pieces, fc.boolean())
  .map(([deltas, thinks]): NewRecord[] => [
    ...(thinks ? [thought('lost')] : []),
    ...said(...deltas),
    claimed,
    resumed,
  ]);

const step = fc.record({
  cuts: fc.array(cutOff, { maxLength: 2 }),
  deltas: pieces,
  thoughts: fc.array(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 2 }),
  calls: fc.array(
    fc.record({ output: fc.string({ maxLength: 20 }), gated: fc.boolean(), arguments: fc.json() }),
    { minLength: 1, maxLength: 3 },
  ),
  /** Interrupted between the calls and their outcomes, or not. */
  restart: fc.boolean(),
  reversed: fc.boolean(),
});

const end = fc.oneof(
  fc.record({
    kind: fc.constant('completed' as const),
    deltas: fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 }),
    steered: fc.boolean(),
    late: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('failed' as const, 'cancelled' as const), deltas: pieces }),
);

/** The whole log of a run that ended; perhaps of an earlier version, whose steps end without an event. */
export const anyRun: fc.Arbitrary<LogRecord[]> = fc
  .record({ steps: fc.array(step, { maxLength: 3 }), end, older: fc.boolean() })
  .map(({ steps, end: last, older }) => {
    const logOf = (all: NewRecord[]) => toLog(older ? all.map(privateStep) : all);
    const records: NewRecord[] = [accepted, claimed];
    for (const [n, { cuts, deltas, thoughts, calls, restart, reversed }] of steps.entries()) {
      records.push(...cuts.flat(), ...mixed(said(...deltas), thoughts.map(thought)));
      const named = calls.map((call, i) => ({ ...call, id: `call_${n}_${i}` }));
      records.push(stepped(deltas.join(''), named), ...named.map(({ id, gated }) => started(id, gated)));
      if (restart) records.push(claimed, resumed);
      for (const { id, gated } of named) if (gated) records.push(asked(id), answered());
      for (const { id, output } of reversed ? named.toReversed() : named) records.push(finished(id, output));
    }
    records.push(...said(...last.deltas));
    if (last.kind !== 'completed') return logOf([...records, last.kind === 'failed' ? failed : cancelled]);
    const answer = last.deltas.join('');
    records.push(stepped(answer));
    if (last.steered) {
      records.push({ event: 'run.steered', public: { input: 'more' }, private: { steer_pos: 0 } });
      records.push(...said(...last.deltas), stepped(answer));
    }
    // Interrupted between the answer and its record: the answer stands and is not repeated.
    if (last.late) records.push(claimed, resumed);
    return logOf([...records, completed(answer)]);
  });

/** The first of each, then the second of each, and so on. */
function mixed(a: readonly NewRecord[], b: readonly NewRecord[]): NewRecord[] {
  const longer = Math.max(a.length, b.length);
  return Array.from({ length: longer }, (_, i) => [a[i], b[i]].flatMap((record) => record ?? [])).flat();
}

/** A journal with this log of one run; its events may be ahead of the log. */
export function journalOf(log: readonly LogRecord[], ahead: readonly LogRecord[] = log) {
  return {
    async readLog(_runId: string, afterPos: number, maxChars?: number): Promise<LogRecord[]> {
      const rest = log.filter(({ event, pos }) => event !== 'message.delta' && pos > afterPos);
      return maxChars === undefined ? rest : rest.slice(0, 1);
    },
    async readEvents(_runId: string, afterSeq: number, limit: number): Promise<StoredEvent[]> {
      return storedEvents(ahead)
        .filter(({ seq }) => seq > afterSeq)
        .slice(0, limit);
    },
    async firstShownAfter(_runId: string, afterPos: number): Promise<number | undefined> {
      const shown = ahead.find(({ event, pos }) => event === 'message.delta' && pos > afterPos);
      return shown?.seq ?? undefined;
    },
  };
}

export function storedEvents(log: readonly LogRecord[]): StoredEvent[] {
  return log.flatMap(({ seq, event, at, public: payload }) =>
    // Only records of events have a seq.
    seq === null ? [] : [{ seq, event: event as EventName, at, payload: JSON.stringify(payload) }],
  );
}
