/** One question by its ids, whether it waits or was answered. */
import { APIError, type Approval, type Run, type Talaria } from '@talaria/client';
import { findRun } from '../api/find-run.ts';
import type { CardQuestion } from '../ui/approval/question.ts';

export type Found =
  | { kind: 'question'; run: Run; question: CardQuestion; settled: boolean }
  /** The run is there, and does not wait for this answer; the question is too old for the history. */
  | { kind: 'over'; run: Run }
  | { kind: 'run gone' };

/** Newer answers are likelier to be looked for. */
const HISTORY = 500;

export async function findQuestion(
  client: Talaria,
  runId: string,
  requestId: string,
  signal: AbortSignal,
): Promise<Found> {
  let run: Run;
  try {
    run = await findRun(client, runId, { signal });
  } catch (error) {
    if (error instanceof APIError && (error.status === 404 || error.status === 400))
      return { kind: 'run gone' };
    throw error;
  }
  if (run.approval?.request_id === requestId)
    return { kind: 'question', run, question: run.approval, settled: false };
  const listed = await findListed(client, requestId, signal);
  if (listed === undefined) return { kind: 'over', run };
  return { kind: 'question', run, question: listed, settled: listed.status === 'answered' };
}

/** Undefined where the server has no list of approvals. */
async function findListed(
  client: Talaria,
  requestId: string,
  signal: AbortSignal,
): Promise<Approval | undefined> {
  let seen = 0;
  try {
    for await (const approval of client.approvals.list({ limit: 100 }, { signal })) {
      if (approval.request_id === requestId) return approval;
      if (++seen >= HISTORY) return undefined;
    }
  } catch (error) {
    if (!(error instanceof APIError && error.status === 404)) throw error;
  }
  return undefined;
}
