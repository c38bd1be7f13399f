export { knowsRuntime } from './check-daemon.ts';
export { type DaemonInfo, DockerApi } from './docker-api.ts';
export { DockerBackend, type DockerBackendOptions } from './docker-backend.ts';
