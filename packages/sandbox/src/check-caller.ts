/** The checks that every backend makes: of its options, and of the requests of its callers. */
import type { ExecutionRequest } from './backend.ts';
import { requireCount, requirePositive } from './check-numbers.ts';
import { SandboxError } from './errors.ts';
import type { SandboxLimits } from './limits.ts';
import { InvalidArguments } from './tools/check-arguments.ts';
import { type CheckedCall, checkCall } from './tools/sandbox-tools.ts';

export const DEFAULT_TIMEOUT_S = 180;
export const DEFAULT_OUTPUT_LIMIT_BYTES = 50_000;

export interface CallOptions {
  defaultTimeoutS?: number | undefined;
  outputLimitBytes?: number | undefined;
  spoolLimitBytes?: number | undefined;
}

export function checkCallOptions({ defaultTimeoutS, outputLimitBytes, spoolLimitBytes }: CallOptions): void {
  if (defaultTimeoutS !== undefined) requirePositive('defaultTimeoutS', defaultTimeoutS);
  if (outputLimitBytes !== undefined) requireCount('outputLimitBytes', outputLimitBytes, 1);
  if (spoolLimitBytes !== undefined) requireCount('spoolLimitBytes', spoolLimitBytes);
}

/** Throws for a bad value; returns the limits without those that are undefined. */
export function checkedLimits(limits: SandboxLimits): SandboxLimits {
  const entries = Object.entries(limits).filter(([, value]) => value !== undefined);
  for (const [limit, value] of entries) {
    const isWhole = limit === 'cpus' || Number.isSafeInteger(value);
    if (isWhole && Number.isFinite(value) && value > 0) continue;
    throw new SandboxError(
      'invalid_request',
      `The limit ${limit} should be a number over 0, not ${value}; leave it out for none.`,
    );
  }
  return Object.fromEntries(entries);
}

/** The call of a request, or why the request can never work. */
export function checkRequest(request: ExecutionRequest, timeoutS: number | undefined): CheckedCall | string {
  const tool: unknown = request?.[1];
  if (slotIdOf(request) === '')
    return 'The request names no slot: its first part should be an acquired slot.';
  if (typeof tool !== 'string') return `The tool should be named by a string, not a ${typeof tool}.`;
  if (timeoutS !== undefined && !(Number.isFinite(timeoutS) && timeoutS > 0))
    return `timeoutS is ${timeoutS}; it should be a number over 0.`;
  try {
    return checkCall(tool, request[2]);
  } catch (error) {
    if (error instanceof InvalidArguments) return error.message;
    throw error;
  }
}

/** Empty if the request names no slot. */
export function slotIdOf(request: ExecutionRequest): string {
  const slotId: unknown = request?.[0]?.slotId;
  return typeof slotId === 'string' ? slotId : '';
}
