/**
 * Failures of a backend itself, and of taking files out of a workspace. What goes wrong inside a command is a result,
 * never an exception.
 */
export type SandboxErrorCode =
  | 'isolation_unavailable'
  | 'limit_unenforceable'
  | 'backend_down'
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
  | 'workspace_not_removed';

export class SandboxError extends Error {
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SandboxError';
    this.code = code;
  }
}
