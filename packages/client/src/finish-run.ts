/** Follows a run to its end and answers its approvals on the way. */
import type { ApprovalAnswerRequest, ApprovalChoice, Run, RunEvent } from '@talaria/protocol';
import { abortWith } from './abort.ts';
import { ConflictError, StreamInterruptedError } from './errors.ts';
import type { StreamOptions } from './run-stream.ts';
import type { RequestOptions } from './transport.ts';

export type ApprovalRequestEvent = Extract<RunEvent, { event: 'approval.request' }>;

/** A choice, a choice for all that wait (`{choice, all: true}`), or nothing: somebody else will answer. */
export type ApprovalReply = ApprovalChoice | Omit<ApprovalAnswerRequest, 'request_id'> | undefined;

export interface FinishOptions {
  /** Is given every event, once and in order; the next one when it is done. */
  onEvent?: ((event: RunEvent) => unknown) | undefined;
  /**
   * Is asked for every approval, while events go on. The signal tells that the question is settled: somebody else was
   * faster, it timed out, or the run ended.
   */
  onApproval?:
    | ((request: ApprovalRequestEvent, context: { signal: AbortSignal }) => Promise<ApprovalReply>)
    | undefined;
}

/** What it needs of the runs. */
export interface RunRoutes {
  streamEvents(runId: string, options: StreamOptions): AsyncIterable<RunEvent>;
  respondApproval(runId: string, answer: ApprovalAnswerRequest, options: RequestOptions): Promise<unknown>;
  wait(runId: string, options: RequestOptions): Promise<Run>;
}

export async function finishRun(
  runs: RunRoutes,
  runId: string,
  { onEvent, onApproval, ...options }: StreamOptions & FinishOptions,
): Promise<Run> {
  // Ends the stream when an approval could not be answered, for that reason.
  const following = new AbortController();
  const release = abortWith(options.signal, following);
  let asking = new AbortController();

  const answer = async (question: ApprovalRequestEvent, signal: AbortSignal): Promise<void> => {
    try {
      const reply = await onApproval?.(question, { signal });
      if (reply === undefined || signal.aborted) return;
      const fields = typeof reply === 'string' ? { choice: reply } : reply;
      await runs.respondApproval(runId, { ...fields, request_id: question.request_id }, options);
    } catch (error) {
      // Settled meanwhile, by somebody else or by time.
      if (signal.aborted || error instanceof ConflictError) return;
      following.abort(error);
    }
  };

  try {
    for await (const event of runs.streamEvents(runId, { ...options, signal: following.signal })) {
      if (event.event === 'approval.responded') asking.abort();
      if (event.event === 'approval.request' && onApproval !== undefined) {
        asking = new AbortController();
        void answer(event, asking.signal);
      }
      await onEvent?.(event);
    }
  } catch (error) {
    // Where nobody listens, nobody misses the events that were lost.
    const missed = onEvent !== undefined || onApproval !== undefined;
    if (missed || !(error instanceof StreamInterruptedError)) throw error;
  } finally {
    asking.abort();
    release();
  }
  return runs.wait(runId, options);
}
