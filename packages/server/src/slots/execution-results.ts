/** Results of calls for clients: with the slot id that the client knows. */
import { randomUUID } from 'node:crypto';
import { API_ERRORS, type SlotResult } from '@talaria/protocol';
import type { ExecutionResult } from '@talaria/sandbox';

export function toWireResult(result: ExecutionResult, slotId: string): SlotResult {
  const { success, output, error, executionId, metadata } = result;
  return { success, output, error, execution_id: executionId, slot_id: slotId, metadata };
}

/** For a call in a slot that its caller does not hold. */
export function goneResult(slotId: string): SlotResult {
  return {
    success: false,
    output: '',
    error: API_ERRORS.slot_not_found.message,
    execution_id: `exec_${randomUUID()}`,
    slot_id: slotId,
    metadata: { duration_s: 0, timed_out: false, truncated: false, failure: 'gone' },
  };
}
