import type { TestOptions } from 'vitest';
import type { ExecuteOptions, ExecutionResult, Slot, ToolBackend } from '../backend.ts';

/** The parts of the contract suite, by the names of their groups of tests. */
export type ContractPart =
  | 'results'
  | 'arguments'
  | 'environment'
  | 'ending'
  | 'output'
  | 'files'
  | 'batches'
  | 'stateful commands'
  | 'timeouts'
  | 'neighbours'
  | 'background processes'
  | 'paths'
  | 'patch'
  | 'search_files'
  | 'snapshots'
  | 'slots'
  | 'lifecycle';

/** What a part of the contract suite works with: tools in a slot of its own for each test. */
export interface ContractTools {
  call(
    tool: string,
    args: Record<string, unknown>,
    options?: ExecuteOptions,
    on?: Slot,
  ): Promise<ExecutionResult>;
  bash(command: string, more?: Record<string, unknown>, options?: ExecuteOptions): Promise<ExecutionResult>;
  /** Says for `describe` when the tests of a part run. */
  when(part: ContractPart): TestOptions;
  slot(): Slot;
  backend(): ToolBackend;
  /** Releases the slot and acquires its trajectory again. */
  acquireAgain(options?: { resetWorkspace?: boolean }): Promise<void>;
  /** Stops the backend and continues with a new one on the same workspaces, in the same trajectory. */
  restart(): Promise<void>;
}
