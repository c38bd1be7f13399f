/**
 * The document and the server agree: a value of a field that the schema of a request allows is accepted, and one that it does
 * not allow is refused. Each field gets values at the edges of what such a field may be, in an otherwise valid request.
 */
import type { TObject } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { parseCreateChat } from '../chat-request.ts';
import { parseCreateCompletion } from '../completion-request.ts';
import { TalariaError } from '../errors.ts';
import { parseForkRun } from '../fork-request.ts';
import { parseCreateJob, parsePauseReason, parseUpdateJob } from '../job-requests.ts';
import { parseApprovalAnswer, parseCreateRun, parseSteer, parseUpdateRun } from '../requests.ts';
import { parseCreateResponse } from '../response-request.ts';
import {
  parseCreateSession,
  parseForkSession,
  parseSessionChat,
  parseUpdateSession,
} from '../session-requests.ts';
import { parseAcquireSlot, parseExecuteSlots, parseReleaseSlot } from '../slot-requests.ts';
import { parseToolOutputs } from '../tool-requests.ts';
import * as schemas from './index.ts';

type Fields = Record<string, unknown>;

const EDGES = [null, true, 0, 1, '', ' ', 'x', 'a\u0007b', 'x'.repeat(300), [], {}];
/** What no schema says: which names exist, and how two fields depend on each other. */
const BEYOND_SCHEMAS = [
  'a job: timezone = "x"',
  'a change of a job: timezone = "x"',
  'a session: require_model_lock = true',
  'a turn of a session: message = null',
  'a turn of a session: input = ""',
  'a turn of a session: input = " "',
  'a turn of a session: input = []',
];
const CALL = { slot_id: 'slot_1', tool: 'bash', args: {} };
const OUTPUT = { tool_call_id: 'call_1', output: 'x' };

const REQUESTS: [string, TObject, (body: Fields) => unknown, Fields][] = [
  ['a run', schemas.CreateRunRequestSchema, parseCreateRun, { input: 'x' }],
  ['a change of a run', schemas.UpdateRunRequestSchema, parseUpdateRun, { keep: true }],
  ['a fork', schemas.ForkRunRequestSchema, parseForkRun, {}],
  ['an approval', schemas.ApprovalAnswerSchema, parseApprovalAnswer, { choice: 'deny' }],
  ['a steer', schemas.SteerRequestSchema, parseSteer, { input: 'x' }],
  ['tool outputs', schemas.ToolOutputsRequestSchema, parseToolOutputs, { outputs: [OUTPUT] }],
  [
    'one tool output',
    schemas.ToolOutputsRequestSchema.properties.outputs.items,
    (output) => parseToolOutputs({ outputs: [output] }),
    OUTPUT,
  ],
  ['a chat', schemas.ChatRequestSchema, parseCreateChat, { messages: [{ role: 'user', content: 'x' }] }],
  ['a completion', schemas.CompletionRequestSchema, parseCreateCompletion, { prompt: 'x' }],
  ['a response', schemas.ResponseRequestSchema, parseCreateResponse, { input: 'x' }],
  ['a job', schemas.CreateJobRequestSchema, parseCreateJob, { name: 'x', schedule: '30m' }],
  ['a change of a job', schemas.UpdateJobRequestSchema, parseUpdateJob, {}],
  ['a pause', schemas.PauseJobRequestSchema, parsePauseReason, {}],
  ['a session', schemas.CreateSessionRequestSchema, parseCreateSession, {}],
  ['a change of a session', schemas.UpdateSessionRequestSchema, parseUpdateSession, { pinned: true }],
  ['a fork of a session', schemas.ForkSessionRequestSchema, parseForkSession, {}],
  ['a turn of a session', schemas.SessionChatRequestSchema, parseSessionChat, { message: 'x' }],
  ['a slot', schemas.AcquireSlotRequestSchema, parseAcquireSlot, {}],
  ['a release', schemas.ReleaseSlotRequestSchema, parseReleaseSlot, {}],
  ['calls', schemas.ExecuteSlotsRequestSchema, (body) => parseExecuteSlots(body, 1e9), { requests: [CALL] }],
  ['a call', schemas.SlotCallSchema, (call) => parseExecuteSlots({ requests: [call] }, 1e9), CALL],
];

describe.each(REQUESTS)('%s', (what, schema, parse, minimal) => {
  it('is accepted as the others are', () => {
    expect(Value.Check(schema, minimal)).toBe(true);
    parse(minimal);
  });

  it.each(Object.keys(schema.properties))('has the field %s as documented', (name) => {
    const wrong = EDGES.flatMap((value) => {
      const body = { ...minimal, [name]: value };
      const allowed = Value.Check(schema, body);
      if (allowed === accepts(parse, body)) return [];
      return [`${what}: ${name} = ${JSON.stringify(value).slice(0, 20)}`];
    });
    expect(wrong).toEqual(BEYOND_SCHEMAS.filter((known) => known.startsWith(`${what}: ${name} = `)));
  });
});

function accepts(parse: (body: Fields) => unknown, body: Fields): boolean {
  try {
    parse(body);
    return true;
  } catch (error) {
    if (error instanceof TalariaError) return false;
    throw error;
  }
}
