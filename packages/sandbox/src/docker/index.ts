export { DockerApi } from './docker-api.ts';
export { DockerBackend } from './docker-backend.ts';
export type { DockerBackendOptions } from './docker-options.ts';
