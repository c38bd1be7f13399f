import type { ExecuteOptions, ExecutionResult, Slot, ToolBackend } from '../backend.ts';

/** What a part of the contract suite works with: tools in a slot of its own for each test. */
export interface ContractTools {
  call(
    tool: string,
    args: Record<string, unknown>,
    options?: ExecuteOptions,
    on?: Slot,
  ): Promise<ExecutionResult>;
  bash(command: string, more?: Record<string, unknown>, options?: ExecuteOptions): Promise<ExecutionResult>;
  slot(): Slot;
  backend(): ToolBackend;
  /** Releases the slot and acquires its trajectory again. */
  acquireAgain(options?: { resetWorkspace?: boolean }): Promise<void>;
  /** Stops the backend and goes on with a new one on the same workspaces, in the same trajectory. */
  restart(): Promise<void>;
}
