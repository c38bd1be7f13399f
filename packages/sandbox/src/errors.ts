/**
 * Failures of a backend itself, and of reading or writing files of a workspace from outside. A failure inside a command is a result, never
 * an exception.
 */
import { limitTitle } from './describe-limits.ts';
import type { LimitStatus } from './limits.ts';

export type SandboxErrorCode =
  | 'isolation_unavailable'
  | 'limit_unenforceable'
  | 'backend_down'
  | 'container_failed'
  | 'slot_held'
  | 'slot_unavailable'
  | 'acquire_timeout'
  | 'slot_not_closed'
  | 'slot_gone'
  | 'invalid_request'
  | 'invalid_path'
  | 'artifact_not_found'
  | 'artifact_too_large'
  | 'artifact_changed'
  | 'artifact_timeout'
  | 'precondition_failed'
  | 'workspace_full'
  | 'workspace_not_removed'
  | 'workspace_reverted'
  | 'snapshot_damaged';

export class SandboxError extends Error {
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SandboxError';
    this.code = code;
  }
}

/** Requested limits that nothing on this machine can enforce. */
export class LimitUnenforceableError extends SandboxError {
  readonly limits: readonly LimitStatus[];

  constructor(limits: readonly LimitStatus[]) {
    const each = limits.map(({ limit, description }) => `${limitTitle(limit)}: ${description}`);
    super('limit_unenforceable', `There are limits that cannot be enforced here. ${each.join('. ')}.`);
    this.limits = limits;
  }
}

/** The files of the workspace were lost with their container; older ones, or none, are left. */
export function revertedError(workspace: string): SandboxError {
  const message = `The files of the workspace ${workspace} were lost with their container and are not restored yet.`;
  return new SandboxError('workspace_reverted', message);
}
