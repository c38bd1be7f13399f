/**
 * What happened to the files of a run that continues after its owner was lost, as text for the model and for clients.
 */
import type { EventPayload } from '@talaria/protocol';
import type { LogRecord } from '../journal/records.ts';

/**
 * - `here`: the workspace is in place, or there was none.
 * - `lost`: it was on another machine, and is empty now.
 * - `restored`: it was on another machine, and its files are here as they were at this position of the log.
 */
export type RecoveredWorkspace =
  | { kind: 'here' }
  | { kind: 'lost' }
  | {
      kind: 'restored';
      pos: number;
      /** How many entries could not be saved. */
      omitted: number;
    };

/** A call with a recorded outcome. */
export interface CallOutcome {
  pos: number;
  seq: number;
  tool: string;
  toolCallId: string;
}

export interface WorkspaceNews {
  payload: Pick<EventPayload<'run.resumed'>, 'workspace_lost' | 'workspace_restored' | 'workspace_as_of_seq'>;
  notice?: string;
}

const LOST =
  'The machine this run worked on is gone, and with it the files of its workspace: the workspace is empty now. ' +
  'Make again what you still need.';
const NOT_BROUGHT = 'What was in /tmp, and what the shell remembered (its directory, variables), was not.';

/** Without interrupted calls: the model knows that those may have changed nothing. */
export function outcomesOf(log: readonly LogRecord[]): CallOutcome[] {
  return log.flatMap((record) =>
    record.event === 'tool.completed' && record.seq !== null && record.private.interrupted !== true
      ? [
          {
            pos: record.pos,
            seq: record.seq,
            tool: record.public.tool,
            toolCallId: record.public.tool_call_id,
          },
        ]
      : [],
  );
}

export function workspaceNews(
  recovered: RecoveredWorkspace,
  outcomes: readonly CallOutcome[],
  usesWorkspace: (outcome: CallOutcome) => boolean,
): WorkspaceNews {
  if (recovered.kind === 'here') return { payload: {} };
  if (recovered.kind === 'lost') return { payload: { workspace_lost: true }, notice: LOST };
  const { pos, omitted } = recovered;
  const changes = outcomes.filter(usesWorkspace);
  const missing = changes.filter((outcome) => outcome.pos > pos).length;
  return {
    payload: {
      workspace_restored: true,
      ...(missing === 0 ? {} : { workspace_as_of_seq: changes.at(-1 - missing)?.seq ?? 0 }),
    },
    notice: restoredNotice(missing, omitted),
  };
}

function restoredNotice(missing: number, omitted: number): string {
  const sentences = ['This run continues on another machine.'];
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
