/** Follows a run to its end, answers its approvals and runs its tools on the way. */
import type { ApprovalAnswerRequest, ApprovalChoice, Run, RunEvent } from '@talaria/protocol';
import { abortWith } from './abort.ts';
import { ConflictError, StreamInterruptedError } from './errors.ts';
import type { StreamOptions } from './run-stream.ts';
import { RunCalls, type RunCallsOptions } from './tools/run-calls.ts';
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
export type RunRoutes = RunCallsOptions['runs'] & {
  streamEvents(runId: string, options: StreamOptions): AsyncIterable<RunEvent>;
  respondApproval(runId: string, answer: ApprovalAnswerRequest, options: RequestOptions): Promise<unknown>;
  wait(runId: string, options: RequestOptions): Promise<Run>;
};

/** The tools of the run that this process runs. */
export type OwnTools = Pick<RunCallsOptions, 'tools' | 'begun'>;

export async function finishRun(
  runs: RunRoutes,
  runId: string,
  { onEvent, onApproval, ...options }: StreamOptions & FinishOptions,
  own?: OwnTools,
): Promise<Run> {
  // Ends the stream when an approval or a call could not be answered, for that reason.
  const following = new AbortController();
  const release = abortWith(options.signal, following);
  let asking = new AbortController();
  const { timeout, headers, maxRetries } = options;
  const request = { timeout, headers, maxRetries };
  const onFault = (error: unknown): void => following.abort(error);
  const calls = own && new RunCalls({ runs, runId, ...own, request, onFault });

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
      calls?.see(event);
      await onEvent?.(event);
    }
  } catch (error) {
    // Where nobody listens, nobody misses the events that were lost.
    const missed = onEvent !== undefined || onApproval !== undefined || calls !== undefined;
    if (missed || !(error instanceof StreamInterruptedError)) throw error;
  } finally {
    asking.abort();
    calls?.close();
    release();
  }
  return runs.wait(runId, options);
}
