/**
 * How a command is kept from the host. A driver turns "run the shell in this workspace" into a program to launch
 * and knows how to end all of it. Which guarantees hold is the driver's `description`; that they really hold is
 * shown by running a command at start (probe.ts).
 */
import type { Isolation } from '../../backend.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import type { LaunchLimits } from '../limits/launch-limits.ts';
import type { Launch } from '../process/run-command.ts';
import type { EntryPrograms } from './entry/entry-programs.ts';
import type { ShellKind } from './shell.ts';
import type { SlotNetwork } from './slot-network.ts';
import type { SharedUser, SlotUsers } from './slot-users.ts';

export interface IsolationDriver {
  readonly kind: Isolation['kind'];
  readonly description: string;
  /** What runs its commands. */
  readonly shell: ShellKind;
  /** The workspace as its commands see it. */
  workspaceDir(workspace: Workspace): string;
  /** `Workspace.tmpDir` as its commands see it. */
  tmpDir(workspace: Workspace): string;
  /**
   * Once per acquired workspace, before its first launch. It belongs to whoever its commands run as from then on; the
   * answer is what to launch commands with.
   */
  prepare(workspace: Workspace): Promise<Workspace>;
  /** When nothing runs in a prepared workspace any more. */
  release(workspace: Workspace): void;
  /** Makes a network for the commands of a slot; absent where they all have the same anyway. Rejects with the reason. */
  openNetwork?(): Promise<SlotNetwork>;
  /** Without a network of its slot a command has one of its own, or that of the host if it may. */
  launch(workspace: Workspace, executionId: string, limits: LaunchLimits, network?: SlotNetwork): Launch;
}

/** What a driver is to use besides namespaces, as far as this machine can. */
export interface Hardening {
  /** The last step into the sandbox, which filters system calls; undefined where there is none. */
  entries: EntryPrograms | undefined;
  /** Who slots run as; users of their own only with `entries`. */
  users: SlotUsers | SharedUser;
}
