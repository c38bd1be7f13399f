export { DockerApi } from './docker-api.ts';
export { DockerBackend, type DockerBackendOptions } from './docker-backend.ts';
