export * from './artifacts.ts';
export type * from './backend.ts';
export { formatLimit, limitTitle } from './describe-limits.ts';
export { DockerApi } from './docker/docker-api.ts';
export { DockerBackend } from './docker/docker-backend.ts';
export type { DockerBackendOptions } from './docker/docker-options.ts';
export { LimitUnenforceableError, SandboxError, type SandboxErrorCode } from './errors.ts';
export {
  type ExecuteCallOptions,
  ToolExecutor,
  type ToolExecutorOptions,
} from './executor/tool-executor.ts';
export type * from './limits.ts';
export { LocalBackend, type LocalBackendOptions } from './local/local-backend.ts';
export type { Container, ContainerDriver, SlotRequest } from './pool/container-driver.ts';
export { type PoolStats, SlotPool, type SlotPoolOptions } from './pool/slot-pool.ts';
export type * from './snapshots.ts';
