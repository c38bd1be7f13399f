/** What became of the files of a run that goes on after its owner was lost, in words for the model and for clients. */
import type { EventPayload } from '@talaria/protocol';
import type { LogRecord } from '../journal/records.ts';

/**
 * - `here`: it is where it was, or there was none.
 * - `lost`: it was on another machine, and is empty now.
 * - `restored`: it was on another machine, and its files are here as they were at this position of the log.
 */
export type RecoveredWorkspace =
  | { kind: 'here' }
  | { kind: 'lost' }
  | {
      kind: 'restored';
      pos: number;
      /** What was there and could not be kept. */
      omitted: number;
    };

export interface WorkspaceNews {
  payload: Pick<EventPayload<'run.resumed'>, 'workspace_lost' | 'workspace_restored' | 'workspace_as_of_seq'>;
  notice?: string;
}

const LOST =
  'The machine this run worked on is gone, and with it the files of its workspace: the workspace is empty now. ' +
  'Make again what you still need.';
const NOT_BROUGHT = 'What was in /tmp, and what the shell remembered (its directory, variables), was not.';

/** `usesWorkspace`: of a tool, by its name. */
export function workspaceNews(
  recovered: RecoveredWorkspace,
  log: readonly LogRecord[],
  usesWorkspace: (tool: string) => boolean,
): WorkspaceNews {
  if (recovered.kind === 'here') return { payload: {} };
  if (recovered.kind === 'lost') return { payload: { workspace_lost: true }, notice: LOST };
  const { pos, omitted } = recovered;
  // Of a call that was interrupted the model knows that it may have changed nothing.
  const missing = log.filter(
    (record) =>
      record.event === 'tool.completed' &&
      record.pos > pos &&
      record.private.interrupted !== true &&
      usesWorkspace(record.public.tool),
  ).length;
  return {
    payload: {
      workspace_restored: true,
      ...(missing === 0 ? {} : { workspace_as_of_seq: lastSeq(log, pos) }),
    },
    notice: restoredNotice(missing, omitted),
  };
}

function lastSeq(log: readonly LogRecord[], pos: number): number {
  return log.findLast((record) => record.pos <= pos && record.seq !== null)?.seq ?? 0;
}

function restoredNotice(missing: number, omitted: number): string {
  const sentences = ['This run goes on on another machine.'];
  if (missing === 0) {
    sentences.push(
      'The files of its workspace were brought there, as they were after the last tool call that completed.',
    );
  } else {
    const calls = missing === 1 ? 'completed tool call' : `${missing} completed tool calls`;
    sentences.push(
      `The files of its workspace were brought there, without what your last ${calls} that worked with files changed in them.`,
      'Look at the files before you rely on them.',
    );
  }
  sentences.push(NOT_BROUGHT);
  if (omitted > 0) {
    const what = omitted === 1 ? 'was an entry' : `were ${omitted} entries`;
    sentences.push(`Nor ${what} that cannot be copied, such as pipes and sockets.`);
  }
  return sentences.join(' ');
}
