import type { ExecutionResult, Slot } from '../backend.ts';

/** What a part of the contract suite works with: tools in a slot of its own for each test. */
export interface ContractTools {
  call(tool: string, args: Record<string, unknown>): Promise<ExecutionResult>;
  bash(command: string): Promise<ExecutionResult>;
  slot(): Slot;
}
