/**
 * The process that starts the commands of one slot. It is in the slot's control groups and network, so its commands are
 * from their first moment, and starting one moves nothing. It ends when the server closes it, and with the server.
 */
import { closeSync, write, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { kill } from '../../host/process-table.ts';
import { WORKSPACE_DIR } from '../../workspace/workspace-dir.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import type { Standing } from '../isolation/isolation-driver.ts';
import { shellArguments } from '../isolation/shell.ts';
import { HOST_WORKSPACES } from '../isolation/system-view.ts';
import type { LaunchLimits } from '../limits/launch-limits.ts';
import { waitWithin } from '../patience.ts';
import type { PipeStock } from '../process/pipe-stock.ts';
import type { CommandIo, Program } from '../process/program.ts';
import { type CommandPlan, commandSteps } from './command-table.ts';
import { KeeperLink, nextId } from './keeper-link.ts';
import { type KeeperOfCommand, KeptCommand } from './kept-command.ts';
import { TableFile } from './table-file.ts';

const writeTo = promisify(write);

/** How long it may take to end by itself. */
const PATIENCE_MS = 3_000;

export interface KeeperParts extends KeeperOfCommand {
  standing: Standing;
  baseDir: string;
  pipes: PipeStock;
  /** Open for writing. */
  requests: number;
  link: KeeperLink;
}

export interface KeptLaunch {
  workspace: Workspace;
  limits: LaunchLimits;
  env: Readonly<Record<string, string>>;
  isCutOff?: boolean | undefined;
}

export class Keeper {
  readonly #parts: KeeperParts;
  /** By what differs between the commands of a slot: their pipes, their network and their rlimits. */
  readonly #tables = new Map<string, TableFile>();
  #isClosed = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** Resolves when it has ended. */
  get gone(): Promise<void> {
    return this.#parts.link.gone;
  }

  get isGone(): boolean {
    return this.#parts.link.isGone;
  }

  /** Moves it into the groups of its slot; `entrances` are their `cgroup.procs`. */
  async enter(entrances: readonly number[]): Promise<void> {
    for (const fd of entrances) await writeTo(fd, String(this.#parts.pid));
  }

  start({ workspace, limits, env, isCutOff = false }: KeptLaunch, io: CommandIo): Program {
    const { standing, link } = this.#parts;
    const id = nextId();
    const [hasInput, hasErrors] = [io.input !== undefined, io.errors !== undefined];
    const shell = shellArguments(standing.shell, limits, { errors: hasErrors ? 2 : 1 });
    const key = [workspace.dir, hasInput, isCutOff, ...shell].join('\0');
    const rest = { shell, hasInput, hasErrors, env, isCutOff: isCutOff && !standing.ownNetwork };
    const table = this.#tables.get(key) ?? this.#makeTable(workspace, rest);
    this.#tables.set(key, table);
    const command = new KeptCommand(id, table, io, this.#parts);
    link.start(id, command);
    return command;
  }

  #makeTable(
    workspace: Workspace,
    rest: Pick<CommandPlan, 'shell' | 'hasInput' | 'hasErrors' | 'isCutOff' | 'env'>,
  ): TableFile {
    const { standing, baseDir, pipes } = this.#parts;
    const inside = (path: string) => HOST_WORKSPACES + path.slice(baseDir.length);
    const plan: CommandPlan = {
      ...rest,
      workspace: inside(workspace.dir),
      tmp: inside(workspace.tmpDir),
      workspaceDir: WORKSPACE_DIR,
      proc: standing.proc,
      ...standing.userOf(workspace),
    };
    const { architecture } = standing.entries;
    return new TableFile(commandSteps(plan, architecture), architecture, pipes);
  }

  /** Resolves when it has ended. Nothing may run in its slot any more. */
  async close(): Promise<void> {
    const { requests, link, pid } = this.#parts;
    if (!this.#isClosed) closeSync(requests);
    this.#isClosed = true;
    await waitWithin(link.gone, { timeoutMs: PATIENCE_MS });
    // Only if it hangs: otherwise its number may now be that of another process.
    if (!link.isGone) kill(pid);
    await link.gone;
    for (const table of this.#tables.values()) table.remove();
  }
}

/** The link to a keeper that reads and writes pipes. */
export function linkByPipes(
  requests: number,
  reports: number,
  onReady: ConstructorParameters<typeof KeeperLink>[2],
) {
  const send = (request: Buffer) => {
    try {
      writeSync(requests, request);
    } catch {
      // The keeper is gone; the end of its reports will show it.
    }
  };
  return new KeeperLink(new Socket({ fd: reports, writable: false }), send, onReady);
}
