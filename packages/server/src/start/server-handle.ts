/** A running server, for the code that started it: how to stop it, and what it reports about itself. */
import type { HardeningStatus } from '@talaria/sandbox';
import type { Config } from '../config/index.ts';

export interface ServerHandle {
  readonly url: string;
  /** Drains, then closes. Resolves when nothing is left open. */
  close(): Promise<void>;
  describe(): Omit<Running, 'url' | 'version'>;
}

export interface Running {
  readonly url: string;
  readonly version: string;
  readonly role: Config['role'];
  readonly store: string;
  /** What an operator should know about the store, one sentence each. */
  readonly storeWarnings: readonly string[];
  /** The model and the sandbox with which this process works on runs; undefined if other processes do that. */
  readonly work: WorkDescription | undefined;
}

export interface WorkDescription {
  /** The name of the model; that of the built-in one starts with `demo`. */
  readonly model: string;
  readonly sandbox: string;
  /** Whether the sandbox isolates commands from the machine. */
  readonly isolated: boolean;
  /** The mechanisms behind the isolation, and which of them are missing. */
  readonly hardening: readonly HardeningStatus[];
  /** The limits on what commands may use. */
  readonly limits: string;
  /** Limits that are not enforced here, and why. */
  readonly unenforcedLimits: readonly string[];
}
