import type { SandboxLimits } from '../limits.ts';
import type { PoolLimits } from '../pool/pool-limits.ts';
import type { ContainerUser } from './container-spec.ts';

export interface DockerBackendOptions extends Partial<PoolLimits> {
  /** Holds the workspaces and nothing else. Created if missing. The daemon has to see it under the same path. */
  workspacesDir: string;
  /** A Linux image with glibc, libstdc++ and a shell, already on the machine; nothing is pulled. */
  image: string;
  /** Like DOCKER_HOST: `unix:///path` or `tcp://host:port`. The usual socket by default. */
  dockerHost?: string | undefined;
  /**
   * What commands may use; one that cannot be enforced makes `start` fail. Memory and processor time are those of a
   * container, shared by its slots. 2 GB and 512 processes where nothing is given; `{}` is no limit at all.
   */
  limits?: SandboxLimits | undefined;
  /** The same where `limits` has nothing, but one that cannot be enforced here is only told by `stats`. */
  preferredLimits?: SandboxLimits | undefined;
  /** Whether containers are on Docker's default network. None by default. */
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

/** Nobody's on every system we know of: below it are accounts, above it the number that stands for nobody. */
const SANDBOX_USER: ContainerUser = { uid: 65_533, gid: 65_533 };

export function poolLimits(options: DockerBackendOptions): PoolLimits {
  const entries = Object.entries(DEFAULT_POOL).map(([name, value]) => [
    name,
    options[name as keyof PoolLimits] ?? value,
  ]);
  return Object.fromEntries(entries);
}

/** The server's own user, so that it can read what commands wrote; unless that is root, which no command may be. */
export function containerUser(): ContainerUser {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  return uid === 0 ? SANDBOX_USER : { uid, gid };
}
