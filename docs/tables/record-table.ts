/**
 * The records of ARCHITECTURE.md. The compiler holds the rows to the types of the records: each record is described once,
 * with exactly the fields of its private part.
 */
import { EVENT_PAYLOADS } from '@talaria/protocol/schemas';
import type { PrivatePayloads, RecordName } from '../../packages/server/src/journal/records.ts';
import { table } from './marked-part.ts';

/** If a payload has several forms, the fields of all. */
type FieldOf<Payload> = Payload extends unknown ? keyof Payload : never;
type Fields<Payload> = { readonly [F in FieldOf<Payload>]: true };
type Row<N> = N extends keyof PrivatePayloads
  ? { private: Fields<PrivatePayloads[N]>; says: string }
  : { says: string };

const ROWS: { readonly [N in RecordName]: Row<N> } = {
  'run.accepted': {
    private: {
      prompt: true,
      shown_input: true,
      instructions: true,
      history: true,
      lead_in: true,
      follow_up: true,
      context: true,
      skipped: true,
      max_context_messages: true,
      session_prompt: true,
      session_named: true,
      client_tools: true,
      output_form: true,
      settings: true,
      traceparent: true,
      inline: true,
      workspace: true,
      forked_from: true,
      inherited: true,
    },
    says: 'what the client asked for',
  },
  'run.claimed': { private: { epoch: true }, says: 'a worker took the run' },
  'run.released': { private: { epoch: true, parked: true }, says: 'the worker gave the run back' },
  'run.context': {
    private: { messages: true, session: true, skipped: true },
    says: 'the earlier turns as found at the first claim: messages, or a range of the session',
  },
  'workspace.prepared': {
    private: { mounted: true, undone: true },
    says: 'what the run begins with is in place',
  },
  'workspace.checkpointed': {
    private: {
      upto: true,
      origin: true,
      parts: true,
      capture_id: true,
      entries: true,
      bytes: true,
      stored_bytes: true,
      omitted: true,
      omitted_count: true,
      mounted: true,
      missed: true,
    },
    says: 'the files of the run are kept up to a record, or could not be',
  },
  'context.cut': {
    private: { before: true, omitted: true },
    says: 'from which message on the model gets the conversation',
  },
  'run.noticed': {
    private: { text: true },
    says: 'what the server tells the model, such as what a restart has cost',
  },
  'message.delta': { says: 'text of a step that is not finished' },
  'reasoning.available': { says: 'what the model thought in a step' },
  'step.completed': {
    private: { content: true, usage: true, reason: true },
    says: 'a step is over; everything the model said in it',
  },
  'answer.refused': {
    private: { problem: true },
    says: 'the answer does not match the schema of the client',
  },
  'tool.started': {
    private: { gated: true, client: true },
    says: 'the intent to run a call, or that the call waits for an approval or for its client',
  },
  'approval.queued': { private: { approvals: true }, says: 'questions that will be asked' },
  'approval.waived': { private: { request_id: true }, says: 'a queued question is not needed any more' },
  'approval.request': { says: 'a question to a person' },
  'approval.responded': { private: { request_ids: true }, says: 'a post: the answer to the question' },
  'tool.executing': { private: { tool_call_id: true }, says: 'the intent to run an approved call' },
  'tool.answered': {
    private: { tool_call_id: true, output: true, error: true, reason: true, terms: true },
    says: 'a post: the output of a client tool',
  },
  'tool.completed': {
    private: { output: true, interrupted: true },
    says: 'the outcome of a call, with its whole output',
  },
  'run.waiting': { says: 'nothing happens until the client has sent outputs' },
  'stop.requested': { private: {}, says: 'a post: end the run' },
  'steer.requested': { private: { input: true }, says: 'a post: text for the model' },
  'run.steered': { private: { steer_pos: true }, says: 'the text of a post is in the conversation' },
  'run.resumed': { says: 'another owner continues after an interruption' },
  'run.completed': { says: 'the end' },
  'run.failed': { says: 'the end' },
  'run.cancelled': { says: 'the end' },
};

export function recordTable(): string {
  const rows = Object.entries(ROWS).map(([name, row]) => [
    `\`${name}\``,
    name in EVENT_PAYLOADS ? 'yes' : '',
    'private' in row ? fieldList(Object.keys(row.private)) : '',
    row.says,
  ]);
  return table(['record', 'public', 'private', 'says'], rows);
}

function fieldList(names: readonly string[]): string {
  return names.length === 0 ? 'no fields' : names.map((name) => `\`${name}\``).join(', ');
}
