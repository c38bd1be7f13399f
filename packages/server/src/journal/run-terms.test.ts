import { expect, test } from 'vitest';
import type { LogRecord, NewRecord, RunRequest, RunTerms } from './records.ts';
import { termsIn, withTerms } from './run-terms.ts';

const REQUEST: RunRequest = {
  prompt: 'go',
  session_named: false,
  instructions: 'Be A.',
  settings: { temperature: 1 },
  client_tools: { tools: [], choice: 'auto', parallel: true },
};

const log = (...records: NewRecord[]): LogRecord[] =>
  records.map((record, pos) => ({ ...record, pos, seq: null, at: pos }) as LogRecord);
const accepted: NewRecord = { event: 'run.accepted', private: REQUEST };
const answered = (terms?: RunTerms): NewRecord => ({
  event: 'tool.answered',
  private: { tool_call_id: 'c', output: '', error: false, ...(terms === undefined ? {} : { terms }) },
});

test('a run works on the latest terms, and on its first ones until then', () => {
  const { prompt: _, session_named: __, ...first } = REQUEST;
  expect(termsIn(log(accepted, answered()))).toEqual(first);
  const later = { instructions: 'Be C.' };
  expect(termsIn(log(accepted, answered({ settings: {} }), answered(later), answered()))).toEqual(later);
});

test('later terms replace all earlier ones', () => {
  expect(withTerms(REQUEST, { instructions: 'Be B.' })).toEqual({
    prompt: 'go',
    session_named: false,
    instructions: 'Be B.',
  });
});
