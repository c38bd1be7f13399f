/** A server that runs, for whoever started it: how to end it, and what it says of itself. */
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
  /** What somebody should know about the store, a sentence each. */
  readonly storeWarnings: readonly string[];
  /** What runs are worked on with; undefined where that is done elsewhere. */
  readonly work: WorkDescription | undefined;
}

export interface WorkDescription {
  /** Its name; that of the built-in one starts with `demo`. */
  readonly model: string;
  readonly sandbox: string;
  /** Whether the sandbox keeps commands from the machine. */
  readonly isolated: boolean;
  /** What stands behind the isolation, and what of it is missing. */
  readonly hardening: readonly HardeningStatus[];
  /** What commands may use. */
  readonly limits: string;
  /** What nothing here holds them to, and why. */
  readonly unenforcedLimits: readonly string[];
}
