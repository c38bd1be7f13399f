/** What `doctor` runs: a check has a name and finds something. */
import type { Env } from '../../config/environment.ts';
import type { Config } from '../../config/index.ts';
import type { Finding } from './finding.ts';

export interface CheckContext {
  /** Aborts when the user interrupts; a check then removes what it has started. */
  readonly interrupted: AbortSignal;
  /** The environment of the processes that a check starts. */
  readonly env: Env;
}

export interface Check {
  readonly name: string;
  /** Whether it starts what outlives this process: containers, jobs, pods. */
  readonly starts?: boolean;
  check(config: Config, context: CheckContext): Finding | Promise<Finding>;
}
