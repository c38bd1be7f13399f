export { type JobSettings, TASK_DRIVERS, type TaskDriver } from './job-spec.ts';
export { NomadApi, type NomadOptions, NomadRefusal } from './nomad-api.ts';
export { DEFAULT_NOMAD_ADDRESS, NomadBackend, type NomadBackendOptions } from './nomad-backend.ts';
