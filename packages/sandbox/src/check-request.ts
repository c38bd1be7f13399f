/** What every backend asks of its callers before it looks at the arguments of a tool. */
import type { ExecutionRequest } from './backend.ts';
import { SandboxError } from './errors.ts';

/** Anything else would become the name of somebody's workspace. */
export function checkTrajectoryId(trajectoryId: unknown): void {
  if (trajectoryId === undefined || typeof trajectoryId === 'string') return;
  const given = trajectoryId === null ? 'null' : `a ${typeof trajectoryId}`;
  throw new SandboxError('invalid_request', `A trajectory is named by a string, not ${given}.`);
}

/** Why the request can never work; undefined where nothing is wrong with it. */
export function whyInvalid(request: ExecutionRequest, timeoutS: number | undefined): string | undefined {
  const tool: unknown = request?.[1];
  if (slotIdOf(request) === '')
    return 'The request names no slot: its first part should be an acquired slot.';
  if (typeof tool !== 'string') return `The tool should be named by a string, not a ${typeof tool}.`;
  if (timeoutS === undefined || (Number.isFinite(timeoutS) && timeoutS > 0)) return undefined;
  return `timeoutS is ${timeoutS}; it should be a number over 0.`;
}

/** Empty where the request names no slot. */
export function slotIdOf(request: ExecutionRequest): string {
  const slotId: unknown = request?.[0]?.slotId;
  return typeof slotId === 'string' ? slotId : '';
}
