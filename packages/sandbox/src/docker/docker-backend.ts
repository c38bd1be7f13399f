/** Slots in Docker containers. HOW_IT_WORKS.md explains how the parts work together. */
import { ContainerBackend } from '../containers/container-backend.ts';
import type { ContainerBackendOptions } from '../containers/container-options.ts';
import type { SandboxLimits } from '../limits.ts';
import { DockerApi } from './docker-api.ts';
import { DockerDriver } from './docker-driver.ts';
import { DEFAULT_DOCKER_HOST } from './docker-host.ts';

const GIGABYTE = 1024 ** 3;
const DEFAULT_LIMITS: SandboxLimits = { memoryBytes: 2 * GIGABYTE, processes: 512 };

export interface DockerBackendOptions extends ContainerBackendOptions {
  /** Holds the workspaces and nothing else. Created if missing. The daemon has to see it under the same path. */
  workspacesDir: string;
  /** A Linux image with glibc, libstdc++ and a shell, already on the machine; nothing is pulled. */
  image: string;
  /** Like DOCKER_HOST: `unix:///path` or `tcp://host:port`. The usual socket by default. */
  dockerHost?: string | undefined;
  /** The name of a runtime in the daemon's configuration; the daemon's default otherwise. */
  runtime?: string | undefined;
  /**
   * What commands may use; a limit that cannot be enforced makes `start` fail. Memory and processor time are per
   * container, shared by its slots. 2 GB and 512 processes by default; `{}` means no limits.
   */
  limits?: SandboxLimits | undefined;
  /** Whether containers are on Docker's default network. None by default. */
  allowNetwork?: boolean | undefined;
}

export class DockerBackend extends ContainerBackend {
  constructor({ image, dockerHost = DEFAULT_DOCKER_HOST, runtime, ...options }: DockerBackendOptions) {
    const driver = new DockerDriver(new DockerApi(dockerHost), { image, runtime });
    const { limits = DEFAULT_LIMITS, preferredLimits } = options;
    // An operator who names a runtime wants stronger isolation: one that does not enforce limits is refused.
    const held = runtime === undefined ? limits : { ...preferredLimits, ...limits };
    super(driver, { ...options, limits: held });
  }
}
