import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { API_ERRORS, type ApiErrorCode, TalariaError, toErrorBody } from '../errors.ts';
import { isTerminalEvent } from '../events.ts';
import { addUsage, createRunId, isRunId, isTerminalStatus, NO_USAGE, RUN_STATUSES } from '../run.ts';
import { ErrorSchema, EVENT_PAYLOADS, RunCreatedSchema, RunSchema, RunStatusSchema } from './runs.ts';

describe('events', () => {
  it('are exactly those in PROTOCOL.md', () => {
    expect(Object.keys(EVENT_PAYLOADS).sort()).toEqual([
      'approval.request',
      'approval.responded',
      'message.delta',
      'reasoning.available',
      'run.cancelled',
      'run.completed',
      'run.failed',
      'run.resumed',
      'run.steered',
      'run.waiting',
      'step.completed',
      'tool.completed',
      'tool.started',
    ]);
  });

  it('end with one of three, one for each terminal status', () => {
    const terminal = Object.keys(EVENT_PAYLOADS).filter(isTerminalEvent);
    expect(terminal.map((name) => name.slice('run.'.length)).sort()).toEqual(
      RUN_STATUSES.filter(isTerminalStatus).sort(),
    );
    expect(isTerminalEvent('run.resumed')).toBe(false);
    expect(isTerminalEvent('toString')).toBe(false);
  });

  it('have payloads without the names that every event has', () => {
    for (const schema of Object.values(EVENT_PAYLOADS)) {
      for (const name of ['event', 'run_id', 'timestamp', 'seq'])
        expect(schema.properties).not.toHaveProperty(name);
    }
  });

  it('allow additional fields and refuse missing ones', () => {
    const schema = EVENT_PAYLOADS['run.completed'];
    expect(Value.Check(schema, { output: 'x', usage: NO_USAGE, more: 1 })).toBe(true);
    expect(Value.Check(schema, { output: 'x' })).toBe(false);
  });
});

describe('runs', () => {
  it('have a schema that accepts the example in PROTOCOL.md', () => {
    const run = {
      object: 'hermes.run',
      run_id: `run_${'0af'.repeat(10)}00`,
      status: 'completed',
      created_at: 1779510796.504,
      updated_at: 1779510798.684,
      session_id: 's',
      model: 'hermes-agent',
      last_event: 'run.completed',
      output: 'hello',
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
    expect(Value.Check(RunSchema, run)).toBe(true);
    expect(Value.Check(RunSchema, { ...run, run_id: 'run_1' })).toBe(false);
    expect(Value.Check(RunSchema, { ...run, status: 'queued' })).toBe(false);
  });

  it('have the same statuses in the list and in the schema', () => {
    for (const status of RUN_STATUSES) expect(Value.Check(RunStatusSchema, status)).toBe(true);
    expect(RUN_STATUSES).toHaveLength(RunStatusSchema.anyOf.length);
  });

  it('have generated ids that the schema accepts', () => {
    const ids = Array.from({ length: 1000 }, () => createRunId());
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) expect(isRunId(id)).toBe(true);
    expect(Value.Check(RunCreatedSchema, { run_id: ids[0], status: 'started', replayed: false })).toBe(true);
  });

  it.each(['', 'run_', `run_${'A'.repeat(32)}`, `run_${'a'.repeat(33)}`, `run_${'a'.repeat(32)}\n`])(
    'do not accept %j as an id',
    (id) => {
      expect(isRunId(id)).toBe(false);
    },
  );

  it('add up usage field by field', () => {
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 4 };
    expect(addUsage(usage, addUsage(usage, NO_USAGE))).toEqual({
      input_tokens: 2,
      output_tokens: 4,
      total_tokens: 8,
    });
  });
});

it('every error has the shape of the error schema', () => {
  for (const code of Object.keys(API_ERRORS) as ApiErrorCode[]) {
    expect(Value.Check(ErrorSchema, toErrorBody(new TalariaError(code)))).toBe(true);
  }
});
