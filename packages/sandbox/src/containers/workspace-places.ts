/**
 * Says where workspaces are, and moves them into containers and out again. A workspace that no slot has is kept: it is a
 * directory on this machine, where every backend finds it. host-places.ts and container-places.ts are the two ways to
 * give it to a container.
 */

import type { SeenAs } from '../workspace/artifacts/workspace-place.ts';
import type { WorkspaceView } from '../workspace/workspace-view.ts';
import type { WritableWorkspace } from '../workspace/writing/workspace-directory.ts';
import type { ContainerDirectory, SlotNote } from './container-directory.ts';
import type { SandboxClient } from './server/sandbox-client.ts';

/** A workspace in a slot. */
export interface PlacedWorkspace {
  readonly name: string;
  /** The server's name for its trajectory. */
  readonly trajectoryId: string;
  readonly note: SlotNote;
}

/** The parts of a container that matter for workspaces. */
export interface WorkspaceHolder {
  readonly directory: ContainerDirectory;
  readonly client: SandboxClient;
}

export interface WorkspacePlaces {
  /** The workspace wherever it is, as commands see it at `seenAs`; undefined if there is none. */
  find(name: string, seenAs: SeenAs): Promise<WorkspaceView | undefined>;
  /** Whether a container was lost with what the last calls changed, so that the files here are older. */
  isReverted(name: string): Promise<boolean>;
  /** The view of a workspace that is in a slot. */
  held(workspace: PlacedWorkspace, seenAs: SeenAs): WorkspaceView;
  /** Write access to a kept workspace; the caller makes sure that it stays kept meanwhile. */
  kept(name: string, seenAs: SeenAs): WritableWorkspace;
  /** The trajectories with a workspace, kept or in a container; without those whose id is not in the name of the workspace. */
  trajectories(): Promise<string[]>;
  /** Call before the server inside opens its slot. If there is no workspace yet, that server creates it. */
  putIn(workspace: PlacedWorkspace, container: WorkspaceHolder): Promise<void>;
  /** Call after its slot was closed. */
  takeOut(
    workspace: PlacedWorkspace,
    container: WorkspaceHolder,
    options?: { discard?: boolean },
  ): Promise<void>;
  /** Saves a workspace whose slot is open, while the container still answers. */
  save(workspace: PlacedWorkspace, container: WorkspaceHolder): Promise<void>;
  /** Takes out the workspaces of a dead container. */
  takeOutAll(directory: ContainerDirectory): Promise<void>;
  /** The workspace must be kept, or not exist. */
  replace<T>(name: string, fill: (dir: string) => Promise<T>): Promise<T>;
  /** The bytes that a kept workspace takes on this machine; 0 if there is none. */
  diskUsage(name: string): Promise<number>;
  /** The workspace must be kept. */
  discard(name: string): Promise<void>;
}
