import type { SandboxLimits } from '../limits.ts';
import type { PoolLimits } from '../pool/pool-limits.ts';
import type { ContainerDriver } from './container-driver.ts';

export interface ContainerBackendOptions extends Partial<PoolLimits> {
  /** Holds the workspaces and nothing else. Created if missing. */
  workspacesDir: string;
  /**
   * What commands may use; a limit that cannot be enforced makes `start` fail. All slots of a container share the
   * limits that the container enforces.
   */
  limits?: SandboxLimits | undefined;
  /** Used for limits that `limits` does not set; if one cannot be enforced here, `stats` only reports it. */
  preferredLimits?: SandboxLimits | undefined;
  /** Whether commands have a network. None by default. */
  allowNetwork?: boolean | undefined;
  /** For commands without a timeout of their own. 180 by default. */
  defaultTimeoutS?: number | undefined;
  /** How many bytes of a command's output are returned; of a longer output, its head and tail. 50 000 by default. */
  outputLimitBytes?: number | undefined;
  /** How many bytes of a longer output are stored in the workspace. 64 MiB by default. */
  spoolLimitBytes?: number | undefined;
  /** One sentence for an operator's log: a container that died, did not start or could not be removed. */
  onTrouble?: ((message: string) => void) | undefined;
}

const DEFAULT_POOL: PoolLimits = {
  slotsPerContainer: 1,
  minContainers: 1,
  maxContainers: 10,
  warmSlots: 1,
  acquireTimeoutS: 60,
  idleContainerS: 300,
  healthIntervalS: 10,
  healthTimeoutS: 5,
};

/** By default, a health check waits as long as the driver allows its containers. */
export function poolLimits(
  options: Partial<PoolLimits>,
  { answersWithinMs = DEFAULT_POOL.healthTimeoutS * 1_000 }: Pick<ContainerDriver, 'answersWithinMs'> = {},
): PoolLimits {
  const defaults = { ...DEFAULT_POOL, healthTimeoutS: answersWithinMs / 1_000 };
  const entries = Object.entries(defaults).map(([name, value]) => [
    name,
    options[name as keyof PoolLimits] ?? value,
  ]);
  return Object.fromEntries(entries);
}
