/**
 * Where workspaces are, and how they get into containers and out again. A workspace that no slot has is kept: it is a
 * directory on this machine, where every backend finds it. host-places.ts and container-places.ts are the two ways of
 * giving it to a container.
 */
import type { WorkspaceView } from '../workspace/workspace-view.ts';
import type { ContainerDirectory, SlotNote } from './container-directory.ts';
import type { SandboxClient } from './server/sandbox-client.ts';

/** A workspace in a slot. */
export interface PlacedWorkspace {
  readonly name: string;
  /** What the server inside calls its trajectory. */
  readonly trajectoryId: string;
  readonly note: SlotNote;
}

/** A container as far as workspaces are concerned. */
export interface WorkspaceHolder {
  readonly directory: ContainerDirectory;
  readonly client: SandboxClient;
}

export interface WorkspacePlaces {
  /** The workspace wherever it is, as commands see it at `workspaceDir`; undefined where there is none. */
  find(name: string, workspaceDir: string): Promise<WorkspaceView | undefined>;
  /** One that is in a slot. */
  held(workspace: PlacedWorkspace, workspaceDir: string): WorkspaceView;
  /** Those with a workspace, kept or in a container, as far as names tell. */
  trajectories(): Promise<string[]>;
  /** Before the server inside opens its slot. Where there is none yet, that server makes it. */
  putIn(workspace: PlacedWorkspace, container: WorkspaceHolder): Promise<void>;
  /** After its slot was closed. */
  takeOut(
    workspace: PlacedWorkspace,
    container: WorkspaceHolder,
    options?: { discard?: boolean },
  ): Promise<void>;
  /** Saves a workspace whose slot is open, while the container can still be asked. */
  save(workspace: PlacedWorkspace, container: WorkspaceHolder): Promise<void>;
  /** Takes out what a dead container has. */
  takeOutAll(directory: ContainerDirectory): Promise<void>;
  /** Of one that is kept, or of none. */
  replace<T>(name: string, fill: (dir: string) => Promise<T>): Promise<T>;
  /** Of one that is kept. */
  discard(name: string): Promise<void>;
}
