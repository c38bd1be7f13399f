/** Follows a run to its end. Answers its approvals and runs its tools on the way. */
import type { ApprovalAnswerRequest, ApprovalChoice, Run, RunEvent } from '@talaria/protocol';
import { abortWith } from './abort.ts';
import { ConflictError, StreamInterruptedError } from './errors.ts';
import type { StreamOptions } from './run-stream.ts';
import { RunCalls, type RunCallsOptions } from './tools/run-calls.ts';
import type { RequestOptions } from './transport.ts';

export type ApprovalRequestEvent = Extract<RunEvent, { event: 'approval.request' }>;

/** A choice; a choice for all waiting approvals (`{choice, all: true}`); or nothing, when somebody else will answer. */
export type ApprovalReply = ApprovalChoice | Omit<ApprovalAnswerRequest, 'request_id'> | undefined;

export interface FinishOptions {
  /** Gets every event, once and in order. The next event waits until this returns. */
  onEvent?: ((event: RunEvent) => unknown) | undefined;
  /**
   * Is called for every approval, while events keep coming. The signal aborts when the question is settled: somebody
   * else answered, it timed out, or the run ended.
   */
  onApproval?:
    | ((request: ApprovalRequestEvent, context: { signal: AbortSignal }) => Promise<ApprovalReply>)
    | undefined;
}

/** The methods it uses. */
export type RunRoutes = RunCallsOptions['runs'] & {
  streamEvents(runId: string, options: StreamOptions): AsyncIterable<RunEvent>;
  respondApproval(runId: string, answer: ApprovalAnswerRequest, options: RequestOptions): Promise<unknown>;
  wait(runId: string, options: RequestOptions): Promise<Run>;
};

/** The run's tools that this process runs. */
export type OwnTools = Pick<RunCallsOptions, 'tools' | 'begun'>;

export async function finishRun(
  runs: RunRoutes,
  runId: string,
  { onEvent, onApproval, ...options }: StreamOptions & FinishOptions,
  own?: OwnTools,
): Promise<Run> {
  // Ends the stream with the reason when an approval or a tool call could not be answered.
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
      // Somebody else or the timeout settled it meanwhile.
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
    // Without a listener, lost events do not matter.
    const missed = onEvent !== undefined || onApproval !== undefined || calls !== undefined;
    if (missed || !(error instanceof StreamInterruptedError)) throw error;
  } finally {
    asking.abort();
    calls?.close();
    release();
  }
  return runs.wait(runId, options);
}
