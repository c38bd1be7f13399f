/** Failures of a backend itself. What goes wrong inside a command is a result, never an exception. */
export type SandboxErrorCode =
  | 'isolation_unavailable'
  | 'backend_down'
  | 'slot_held'
  | 'slot_unavailable'
  | 'workspace_not_removed';

export class SandboxError extends Error {
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SandboxError';
    this.code = code;
  }
}
