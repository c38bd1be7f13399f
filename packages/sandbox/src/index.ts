/** The parts that all backends share. Each driver has an entry of its own, so that unused drivers are not loaded. */
export * from './artifacts.ts';
export type * from './backend.ts';
export type * from './captures.ts';
export { formatLimit, limitTitle } from './describe-limits.ts';
export { LimitUnenforceableError, SandboxError, type SandboxErrorCode } from './errors.ts';
export {
  type ExecuteCallOptions,
  ToolExecutor,
  type ToolExecutorOptions,
} from './executor/tool-executor.ts';
export type * from './limits.ts';
export type * from './snapshots.ts';
export type * from './trajectory-workspaces.ts';
export { archiveTree, type OpenTree, tarGz } from './workspace/artifacts/archive.ts';
export type { TreeEntry } from './workspace/artifacts/archive-entry.ts';
export { requestedPath } from './workspace/artifacts/requested-path.ts';
export { fromCapturedPath } from './workspace/captures/captured-path.ts';
export { type PackOptions, packDirectory, packTree } from './workspace/snapshots/pack-tree.ts';
export { WORKSPACE_DIR } from './workspace/workspace-dir.ts';
export type * from './writing.ts';
