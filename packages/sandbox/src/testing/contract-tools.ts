import type { TestOptions } from 'vitest';
import type { ExecuteOptions, ExecutionResult, Slot, ToolBackend } from '../backend.ts';

/** The parts of the contract suite, by the names of their groups of tests. */
export const CONTRACT_PARTS = [
  'results',
  'arguments',
  'demands',
  'environment',
  'ending',
  'output',
  'files',
  'batches',
  'stateful commands',
  'terminal',
  'timeouts',
  'neighbours',
  'background processes',
  'paths',
  'patch',
  'search_files',
  'snapshots',
  'writing',
  'captures',
  'slots',
  'artifacts',
  'lifecycle',
] as const;
export type ContractPart = (typeof CONTRACT_PARTS)[number];

export const FIFOS_STAY_INSIDE =
  'a kernel of its own keeps FIFOs for itself, so they are not in the workspace';

export interface Race {
  /** Starts the command. */
  against(command: string): void;
  /** Whether to continue the race. It lasts longer while a busy machine has not yet made `isShown` true. */
  lasts(isShown?: () => boolean): boolean;
  /** Ends the command, which also ends with the test. */
  end(): Promise<void>;
}

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
  /**
   * Options of a test that depends neither on the way to a slot nor on the place of its workspace. It is a soak test on a
   * backend that differs from another only in these.
   */
  sameEverywhere: TestOptions;
  /** Tests tools beside a command that changes the same files all the time: once briefly, and once longer as a soak test. */
  race(name: string, run: (racing: Race) => Promise<void>): void;
  /** Commands do not run on this machine's kernel. */
  ownKernel: boolean;
  slot(): Slot;
  backend(): ToolBackend;
  /** The trajectory of the slot; no other test uses it. */
  trajectory(): string;
  /** Acquires the trajectory for the rest of the test, after its slot was released or the backend stopped. */
  acquire(): Promise<void>;
  /** Works in this many further slots at a time, and releases them however that ends: the next test may need all there are. */
  withSlots(count: number, work: (slots: Slot[]) => Promise<void>): Promise<void>;
  /** Releases the slot and acquires its trajectory again. */
  acquireAgain(options?: { resetWorkspace?: boolean }): Promise<void>;
  /** Stops the backend and continues with a new one on the same workspaces, in the same trajectory. */
  restart(): Promise<void>;
}
