/** A workspace for reading and moving, wherever it is. Nothing of it is open between calls. */
import type { Readable } from 'node:stream';
import type { WorkspaceReader } from '../artifacts.ts';
import type { SnapshotOptions, SurveyOptions, WorkspaceSurvey } from '../snapshots.ts';
import type { Digests } from './artifacts/digests.ts';
import { LocalWorkspaceReader } from './artifacts/local-workspace-reader.ts';
import type { WorkspacePlace } from './artifacts/workspace-place.ts';
import { surveyTree } from './snapshots/survey-tree.ts';
import { takeSnapshot } from './snapshots/take-snapshot.ts';

export interface WorkspaceView {
  readonly reader: WorkspaceReader;
  survey(options: SurveyOptions): Promise<WorkspaceSurvey | undefined>;
  snapshot(options: SnapshotOptions): Promise<Readable | undefined>;
}

/** Of a directory on this machine. */
export function viewDirectory(place: WorkspacePlace, workspaceDir: string, digests: Digests): WorkspaceView {
  return {
    reader: new LocalWorkspaceReader(place, workspaceDir, digests),
    survey: (options) => surveyTree(place, options),
    snapshot: async (options) => takeSnapshot(place, options),
  };
}
