/**
 * How a command is isolated from the host. A driver turns "run the shell in this workspace" into a program to launch,
 * and knows how to end all of it. The driver's `description` says which guarantees hold; running a command at start
 * (probe.ts) shows that they do.
 */
import type { Isolation } from '../../backend.ts';
import type { Owner } from '../../workspace/give-tree-to.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import type { LaunchLimits } from '../limits/launch-limits.ts';
import type { Launch } from '../process/spawn-program.ts';
import type { Step } from './entry/call-table.ts';
import type { EntryPrograms } from './entry/entry-programs.ts';
import type { Shell, ShellKind } from './shell.ts';
import type { SlotNetwork } from './slot-network.ts';
import type { SharedUser, SlotUsers } from './slot-users.ts';
import type { ProcView } from './system-view.ts';

/**
 * A sandbox that stays, for keepers (keeper/). It lacks what belongs to one command, and has in addition the workspaces at
 * HOST_WORKSPACES.
 */
export interface Standing {
  entries: EntryPrograms;
  shell: Shell;
  /** The steps that the first process in it takes before anything else. */
  prepare: readonly Step[];
  proc: ProcView;
  /** The environment of its commands. */
  env: Readonly<Record<string, string>>;
  /** Whether a slot has a network of its own. */
  ownNetwork: boolean;
  /** The kernel user of commands, if it is not the server's, and the one they are in the sandbox. */
  userOf(workspace: Workspace): { user: number | undefined; mappedUser: number };
  /** The command line that runs a program as its first process. `dir` is for files that commands must not see. */
  launch(program: string, baseDir: string, dir: string): Promise<Pick<Launch, 'program' | 'args' | 'cwd'>>;
}

/** What one command may have that the others of its slot have not. */
export interface CommandForm {
  /** A pipe for its standard error. */
  hasErrors?: boolean;
  /** It has no network, although the sandbox has. Only an isolation can do that. */
  isCutOff?: boolean;
}

export interface IsolationDriver {
  readonly kind: Isolation['kind'];
  readonly description: string;
  /** The shell that runs its commands. */
  readonly shell: ShellKind;
  /** The workspace as its commands see it. */
  workspaceDir(workspace: Workspace): string;
  /** `Workspace.tmpDir` as its commands see it. */
  tmpDir(workspace: Workspace): string;
  /** The owner of the files of a mounted directory. Rejects with the reason if commands cannot work in it. */
  mountedOwner(dir: string): Promise<Owner>;
  /**
   * Call once per acquired workspace, before its first launch. From then on the workspace belongs to the user of its
   * commands, unless it is mounted. Returns the workspace to launch commands with.
   */
  prepare(workspace: Workspace): Promise<Workspace>;
  /** Call when nothing runs in a prepared workspace any more. */
  release(workspace: Workspace): void;
  /**
   * Creates a network for the commands of a slot; absent if they all have the same network anyway. Rejects with the
   * reason.
   */
  openNetwork?(): Promise<SlotNetwork>;
  /** Without a network of its slot a command has its own, or that of the host if allowed. */
  launch(
    workspace: Workspace,
    executionId: string,
    limits: LaunchLimits,
    network?: SlotNetwork,
    form?: CommandForm,
  ): Launch;
  /** Absent if there is none, or no program for keepers. */
  standing?: Standing;
}

/** The means that a driver should use in addition to namespaces, as far as this machine supports them. */
export interface Hardening {
  /** The last step into the sandbox, which filters system calls; undefined if this machine supports none. */
  entries: EntryPrograms | undefined;
  /** Which user slots run as; users of their own only with `entries`. */
  users: SlotUsers | SharedUser;
}
