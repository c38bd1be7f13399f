/** Results of calls that never reached a slot. */
import { randomUUID } from 'node:crypto';
import type { ExecutionResult, FailureReason } from './backend.ts';

export function notRun(failure: FailureReason, error: string, slotId = ''): ExecutionResult {
  return {
    success: false,
    output: '',
    error,
    executionId: `exec_${randomUUID()}`,
    slotId,
    metadata: { duration_s: 0, timed_out: false, truncated: false, failure },
  };
}

export function aborted(slotId?: string): ExecutionResult {
  return notRun('aborted', 'The call was stopped before it began.', slotId);
}
