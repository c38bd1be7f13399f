export * from './artifacts.ts';
export type * from './backend.ts';
export { SandboxError, type SandboxErrorCode } from './errors.ts';
export { LocalBackend, type LocalBackendOptions } from './local/local-backend.ts';
