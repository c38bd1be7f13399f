/**
 * Which files the fork of a session begins with: those from after the last message that it has. They are in a checkpoint of the
 * run that said that message, as long as the run is kept.
 */
import { TalariaError } from '@talaria/protocol';
import type { Checkpoints } from '../checkpoints/checkpoint-tree.ts';
import { checkpointAt } from '../checkpoints/stored-checkpoints.ts';
import { isMissed } from '../journal/checkpoints.ts';
import type { Journal } from '../journal/journal.ts';
import type { ForkedFiles, StoredMessage } from '../journal/sessions.ts';

export interface ForkFilesOptions {
  journal: Pick<Journal, 'sessions' | 'getRun' | 'readCheckpoints' | 'readLog'>;
  /** Undefined if the server keeps none. */
  checkpoints: Checkpoints | undefined;
}

/** `last_message`: `files` has nothing that came later. `now`: the fork gets what the session has. */
export type FoundForkFiles = { asOf: 'last_message'; files: ForkedFiles } | { asOf: 'now' };

export const NOW: FoundForkFiles = { asOf: 'now' };

export async function findForkFiles(
  { journal, checkpoints }: ForkFilesOptions,
  { owner, sessionId, upTo }: { owner: string; sessionId: string; upTo: number },
): Promise<FoundForkFiles> {
  const kept = await journal.sessions.files(owner, sessionId);
  if (kept === undefined || upTo === 0) return { asOf: 'last_message', files: null };
  const messageAt = async (pos: number): Promise<StoredMessage | undefined> =>
    (await journal.sessions.messages(owner, sessionId, { from: pos, limit: 1 }))[0];
  const [last, next] = await Promise.all([messageAt(upTo - 1), messageAt(upTo)]);
  // Without a next message the fork has all of them, and the session may have been worked in since.
  if (last === undefined || next === undefined || checkpoints === undefined) return NOW;
  const { runId } = last;
  const isWhole = next.runId !== runId;
  if (isWhole && kept.run_id === runId) return { asOf: 'last_message', files: undefined };
  if ((await journal.getRun(runId)) === undefined) return NOW;
  const upToPos = isWhole ? Number.MAX_SAFE_INTEGER : await endOfCalls(journal, last, messageAt);
  const checkpoint = checkpointAt(await journal.readCheckpoints(runId), upToPos);
  if (checkpoint === undefined) return { asOf: 'last_message', files: null };
  if (isMissed(checkpoint)) return NOW;
  try {
    const blobIds = await checkpoints.blobsOf(checkpoint);
    return { asOf: 'last_message', files: { files: { run_id: runId, checkpoint }, blobIds } };
  } catch (error) {
    if (error instanceof TalariaError && error.code === 'checkpoint_gone') return NOW;
    throw error;
  }
}

/** The position in the log of the run before its next step; before the first one if no call has ended up to this message. */
async function endOfCalls(
  journal: Pick<Journal, 'readLog'>,
  last: StoredMessage,
  messageAt: (pos: number) => Promise<StoredMessage | undefined>,
): Promise<number> {
  const { runId } = last;
  let found: StoredMessage | undefined = last;
  while (found?.runId === runId && found.message.role !== 'tool') {
    found = found.pos === 0 ? undefined : await messageAt(found.pos - 1);
  }
  if (found?.runId !== runId || found.message.role !== 'tool') return -1;
  const { tool_call_id: callId } = found.message;
  const log = await journal.readLog(runId, -1);
  const steps = log.filter((record) => record.event === 'step.completed');
  const calling = steps.findIndex(({ private: { content } }) =>
    content.some((part) => part.type === 'tool_call' && part.id === callId),
  );
  return (steps[calling + 1]?.pos ?? Number.MAX_SAFE_INTEGER) - 1;
}
