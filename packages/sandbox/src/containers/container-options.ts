import type { SandboxLimits } from '../limits.ts';
import type { PoolLimits } from '../pool/pool-limits.ts';

export interface ContainerBackendOptions extends Partial<PoolLimits> {
  /** Holds the workspaces and nothing else. Created if missing. */
  workspacesDir: string;
  /**
   * What commands may use; one that cannot be enforced makes `start` fail. What the container enforces is shared by its
   * slots.
   */
  limits?: SandboxLimits | undefined;
  /** The same where `limits` has nothing, but one that cannot be enforced here is only told by `stats`. */
  preferredLimits?: SandboxLimits | undefined;
  /** Whether commands have a network. None by default. */
  allowNetwork?: boolean | undefined;
  /** For commands that name no timeout of their own. 180 by default. */
  defaultTimeoutS?: number | undefined;
  /** Bytes of a command's output that are returned; of a longer one its head and tail. 50 000 by default. */
  outputLimitBytes?: number | undefined;
  /** Bytes kept in the workspace of an output over the limit. 64 MiB by default. */
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

export function poolLimits(options: Partial<PoolLimits>): PoolLimits {
  const entries = Object.entries(DEFAULT_POOL).map(([name, value]) => [
    name,
    options[name as keyof PoolLimits] ?? value,
  ]);
  return Object.fromEntries(entries);
}
