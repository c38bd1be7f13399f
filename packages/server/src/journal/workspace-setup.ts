/** What a run's workspace begins with, as accepted: file ids are resolved to blobs, which the run holds. */
import type { WorkspaceGit } from '@talaria/protocol';

export type SetupContent =
  | { content: string; encoding?: 'base64' }
  /** The run has a reference to the blob, so it is there whatever becomes of the file it was uploaded as. */
  | { blob_id: string; size: number };

export type SetupFile = { path: string } & SetupContent;

export interface WorkspaceSetup {
  files?: SetupFile[];
  archives?: SetupFile[];
  git?: WorkspaceGit[];
  directory?: string;
  /** The directory of the operator that the run works in itself. Then there are no other parts. */
  mount?: string;
  /** Nothing is inherited from the session. */
  fresh?: true;
}
