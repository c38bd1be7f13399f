/**
 * The records of ARCHITECTURE.md. The compiler holds the rows to `RecordName`: each record is described once, with a
 * private part exactly if it has one.
 */
import { EVENT_PAYLOADS } from '@talaria/protocol/schemas';
import type { PrivatePayloads, RecordName } from '../../packages/server/src/journal/records.ts';
import { table } from './marked-part.ts';

type Row<N> = N extends keyof PrivatePayloads ? { private: string; says: string } : { says: string };

const ROWS: { readonly [N in RecordName]: Row<N> } = {
  'run.accepted': { private: 'request', says: 'what the client asked for' },
  'run.claimed': { private: 'epoch', says: 'a worker took the run' },
  'run.released': { private: 'epoch, parked', says: 'the worker gave the run back' },
  'run.context': {
    private: 'range of the session, or messages',
    says: 'the earlier turns of the session, as found at the first claim',
  },
  'workspace.prepared': { private: 'nothing', says: 'what the run begins with is in place' },
  'workspace.checkpointed': {
    private: 'where the files are stored',
    says: 'the files of the run are kept up to a record, or could not be',
  },
  'context.cut': { private: 'where', says: 'from which message on the model gets the conversation' },
  'run.noticed': {
    private: 'text',
    says: 'what the server tells the model, such as what a restart has cost',
  },
  'message.delta': { says: 'text of a step that is not finished' },
  'reasoning.available': { says: 'what the model thought in a step' },
  'step.completed': { private: 'content, usage', says: 'a step is over; everything the model said in it' },
  'answer.refused': { private: 'problem', says: 'the answer does not match the schema of the client' },
  'tool.started': { private: 'gated', says: 'the intent to run a call, or that the call waits' },
  'approval.queued': { private: 'approvals', says: 'questions that will be asked' },
  'approval.waived': { private: 'request id', says: 'a queued question is not needed any more' },
  'approval.request': { says: 'a question to a person' },
  'approval.responded': { private: 'request ids', says: 'a post: the answer to the question' },
  'tool.executing': { private: 'call id', says: 'the intent to run an approved call' },
  'tool.answered': { private: 'output', says: 'a post: the output of a client tool' },
  'tool.completed': { private: 'whole output', says: 'the outcome of a call' },
  'run.waiting': { says: 'nothing happens until the client has sent outputs' },
  'stop.requested': { private: 'nothing', says: 'a post: end the run' },
  'steer.requested': { private: 'text', says: 'a post: text for the model' },
  'run.steered': { private: 'which post', says: 'the text is in the conversation' },
  'run.resumed': { says: 'another owner continues after an interruption' },
  'run.completed': { says: 'the end' },
  'run.failed': { says: 'the end' },
  'run.cancelled': { says: 'the end' },
};

export function recordTable(): string {
  const rows = Object.entries(ROWS).map(([name, row]) => [
    `\`${name}\``,
    name in EVENT_PAYLOADS ? 'yes' : '',
    'private' in row ? row.private : '',
    row.says,
  ]);
  return table(['record', 'public', 'private', 'says'], rows);
}
