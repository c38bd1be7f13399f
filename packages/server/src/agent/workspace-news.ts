/**
 * What happened to the files of a run that lost its owner or its sandbox, as text for the model and for clients.
 */
import type { EventPayload } from '@talaria/protocol';
import type { CallOutcome } from './progress.ts';
import type { RecoveredWorkspace } from './tools/recovered-workspace.ts';

export interface WorkspaceNews {
  payload: Pick<EventPayload<'run.resumed'>, 'workspace_lost' | 'workspace_restored' | 'workspace_as_of_seq'>;
  notice?: string;
}

const LOST =
  'The machine this run worked on is gone, and with it the files of its workspace: the workspace is empty now. ' +
  'Make again what you still need.';
const REVERTED =
  'The files of the workspace were lost with the sandbox. Those from when that sandbox was opened are there now, if there were ' +
  'any: look at the files before you rely on them, and make again what you still need.';
const FILES_RESTORED = 'The files of the workspace were lost with the sandbox and restored';
const NOT_BROUGHT =
  'What was in /tmp, such as the whole outputs of long commands, and what the shell remembered (its directory, variables), was not.';

export function workspaceNews(
  recovered: RecoveredWorkspace,
  outcomes: readonly CallOutcome[],
  usesWorkspace: (outcome: CallOutcome) => boolean,
): WorkspaceNews {
  if (recovered.kind === 'here') return { payload: {} };
  if (recovered.kind === 'lost') return { payload: { workspace_lost: true }, notice: LOST };
  if (recovered.kind === 'reverted') return { payload: { workspace_lost: true }, notice: REVERTED };
  const { pos, omitted, lost } = recovered;
  const changes = outcomes.filter(usesWorkspace);
  const missing = changes.filter((outcome) => outcome.pos > pos).length;
  return {
    payload: {
      workspace_restored: true,
      ...(missing === 0 ? {} : { workspace_as_of_seq: changes.at(-1 - missing)?.seq ?? 0 }),
    },
    notice: restoredNotice(lost, missing, omitted),
  };
}

function restoredNotice(lost: 'machine' | 'sandbox', missing: number, omitted: number): string {
  const sentences = lost === 'machine' ? ['This run continues on another machine.'] : [];
  const files = lost === 'machine' ? 'The files of its workspace were brought there' : FILES_RESTORED;
  if (missing === 0) {
    sentences.push(`${files}, as they were after the last tool call that completed.`);
  } else {
    const calls = missing === 1 ? 'completed tool call' : `${missing} completed tool calls`;
    sentences.push(
      `${files}, without what your last ${calls} that worked with files changed in them.`,
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
