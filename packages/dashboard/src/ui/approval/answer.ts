/** Sends one answer, and says what became of it. */
import { APIError, type ApprovalChoice } from '@talaria/client';
import { client, noteFailure } from '../../api/session.ts';

export type Sent =
  | { kind: 'answered'; choice: ApprovalChoice; message?: string; resolved: number }
  /** Somebody else answered first, its time ended, or the run did. */
  | { kind: 'late' }
  | { kind: 'gone' }
  | { kind: 'failed'; error: unknown };

export interface Answer {
  choice: ApprovalChoice;
  message?: string | undefined;
  /** Also for the questions behind it. */
  all: boolean;
}

export async function answer(
  runId: string,
  requestId: string,
  { choice, message, all }: Answer,
): Promise<Sent> {
  const given = message === undefined || message === '' ? {} : { message };
  const more = all ? { all } : {};
  try {
    // The id makes a retry safe, and keeps the answer from reaching the next question.
    const { resolved } = await client
      .peek()
      .runs.respondApproval(runId, { choice, request_id: requestId, ...given, ...more });
    return { kind: 'answered', choice, resolved, ...given };
  } catch (error) {
    noteFailure(error);
    if (!(error instanceof APIError)) return { kind: 'failed', error };
    if (error.code === 'approval_not_pending' || error.code === 'approval_not_active')
      return { kind: 'late' };
    return error.status === 404 ? { kind: 'gone' } : { kind: 'failed', error };
  }
}
