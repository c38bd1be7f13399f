/**
 * Lets runs work in directories of the operator, one run at a time in each: two of them would mistake each other's changes for
 * their own. A run has its directory until it ends, also while it waits for somebody or after a restart. Which run has which
 * directory is what the sandbox remembers, so nothing else has to survive a crash; it is asked once.
 */
import { SandboxError, type TrajectoryWorkspaces } from '@talaria/sandbox';
import { RunFailure } from '../agent/agent-run.ts';
import type { Log } from '../basics/log.ts';
import type { OperatorDirectory } from '../config/index.ts';

export interface DirectoryMountsOptions {
  workspaces: TrajectoryWorkspaces;
  directories: readonly OperatorDirectory[];
  log: Log;
}

export interface MountingRun {
  runId: string;
  /** The name of the API key. */
  owner: string;
  isUnfinished(runId: string): Promise<boolean>;
}

export class DirectoryMounts {
  readonly #options: DirectoryMountsOptions;
  /** One after the other, so that no two runs find the same directory free. */
  #turn: Promise<unknown> = Promise.resolve();
  /**
   * By the path of a directory: the runs that may be unfinished and have it. Finished runs keep their links for as long as they are
   * kept, so looking at all of them for each new run would take longer with every day.
   */
  readonly #holders = new Map<string, Set<string>>();

  constructor(options: DirectoryMountsOptions) {
    this.#options = options;
  }

  /**
   * Takes a directory away from runs whose keys may not work in it any more: their files would still be those of the directory.
   * Call it before anybody is served.
   */
  async withdraw(ownerOf: (runId: string) => Promise<string | undefined>): Promise<void> {
    const { workspaces, directories } = this.#options;
    const mounts = directories.filter(({ mode }) => mode === 'mount');
    for (const [path, entries] of Map.groupBy(mounts, (one) => one.path)) {
      for (const runId of (await workspaces.mountedAt?.(path)) ?? []) {
        const owner = await ownerOf(runId);
        if (owner === undefined || entries.some((one) => isAllowed(one, owner))) continue;
        await workspaces.discard(runId);
      }
    }
  }

  /** No slot may hold the workspace of the run. Rejects with a `RunFailure`. */
  mount(name: string, run: MountingRun): Promise<void> {
    const turn = this.#turn.then(() => this.#mount(name, run));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #mount(name: string, { runId, owner, isUnfinished }: MountingRun): Promise<void> {
    const { workspaces, directories, log } = this.#options;
    const known = directories.find((one) => one.name === name && isAllowed(one, owner));
    if (known?.mode !== 'mount' || !workspaces.mount || !workspaces.mountedAt) {
      throw refused(`the operator does not let this key work in the directory '${name}' any more`);
    }
    const holders = this.#holders.get(known.path) ?? new Set(await workspaces.mountedAt(known.path));
    this.#holders.set(known.path, holders);
    for (const other of holders) {
      if (other === runId) continue;
      if (await isUnfinished(other)) {
        throw refused(`${other} works in the directory '${name}'; start this run when that one has ended`);
      }
      holders.delete(other);
    }
    try {
      await workspaces.mount(runId, known.path);
      holders.add(runId);
    } catch (error) {
      if (!(error instanceof SandboxError) || error.code !== 'invalid_request') throw error;
      // The reason names the path, which no client may know.
      log.error({ runId, err: error, directory: name }, 'a directory cannot be mounted');
      throw refused(
        `commands cannot work in the directory '${name}' as it is now; the log of the server says why`,
      );
    }
  }
}

export function isAllowed({ keys }: Pick<OperatorDirectory, 'keys'>, owner: string): boolean {
  return keys?.includes(owner) ?? true;
}

function refused(reason: string): RunFailure {
  return new RunFailure('workspace_setup', `workspace.directory: ${reason}`);
}
