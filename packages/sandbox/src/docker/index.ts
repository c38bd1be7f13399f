export { DockerBackend } from '../containers/container-backend.ts';
export { DockerApi } from './docker-api.ts';
export type { DockerBackendOptions } from './docker-options.ts';
