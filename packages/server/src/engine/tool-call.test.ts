import { expect, it } from 'vitest';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import { approvalRequest, responded, stepRecord, toolStarted, usage } from '../journal/testing/records.ts';
import { findCall } from './tool-call.ts';

const asIs = (text: string) => text;

function step(id: string, args: string): NewRecord {
  const content = [{ type: 'tool_call' as const, id, tool: 'bash', arguments: args }];
  return stepRecord(content, usage(1, 1), 'tool_calls');
}

function completed(id: string, output: string): NewRecord {
  const shown = { tool: 'bash', duration: 1, error: true, preview: 'x', tool_call_id: id, exit_code: 3 };
  return { event: 'tool.completed', public: shown, private: { output } };
}

/** A second apart. */
function log(...records: NewRecord[]): LogRecord[] {
  return records.map((record, pos) => ({ ...record, pos, seq: null, at: pos * 1000 }) as LogRecord);
}

const find = (id: string, records: LogRecord[], mask = asIs) => findCall('run_1', id, records, mask);

it('a call has its whole arguments and output', () => {
  const long = 'x'.repeat(100_000);
  const records = log(step('a', JSON.stringify({ command: long })), toolStarted('a'), completed('a', long));
  expect(find('a', records)).toEqual({
    object: 'hermes.run.call',
    run_id: 'run_1',
    tool_call_id: 'a',
    tool: 'bash',
    arguments: { command: long },
    output: long,
    error: true,
    exit_code: 3,
    started_at: 1,
    completed_at: 2,
  });
});

it('a running call has no outcome yet', () => {
  const records = log(step('a', '{}'), toolStarted('a'), toolStarted('b'), completed('b', 'of b'));
  expect(find('a', records)).toMatchObject({ output: null, error: null, completed_at: null });
});

it('a call that was not started does not exist', () => {
  expect(find('a', log(step('a', '{}'), toolStarted('b')))).toBeUndefined();
});

it('arguments that are not a JSON object are shown as the model wrote them', () => {
  for (const text of ['{"command":', '[1]', 'null', '']) {
    expect(find('a', log(step('a', text), toolStarted('a')))?.arguments).toBe(text);
  }
});

it('secrets are masked in arguments, also in malformed ones, and in the output', () => {
  const mask = (text: string) => text.replaceAll('hunter2', '***');
  const records = (args: string) => log(step('a', args), toolStarted('a'), completed('a', 'got hunter2'));
  expect(find('a', records('{"command":"echo hunter2"}'), mask)).toMatchObject({
    arguments: { command: 'echo ***' },
    output: 'got ***',
  });
  expect(find('a', records('{"command":"echo hunter2'), mask)?.arguments).toBe('{"command":"echo ***');
});

it('a gated call shows the question, and the answer with its time', () => {
  const question = approvalRequest('a') as Extract<NewRecord, { event: 'approval.request' }>;
  const { tool_call_id: id, request_id, pattern_key, description } = question.public;
  const asked = [step(id, '{}'), toolStarted(id), question];
  const approval = { request_id, pattern_key, description, requested_at: 2 };
  expect(find(id, log(...asked))?.approval).toEqual(approval);
  expect(find(id, log(...asked, responded('a')))?.approval).toMatchObject({ ...approval, answered_at: 3 });
});
