/**
 * Ending everything a command started.
 *
 * In a pid namespace the kernel does it: when the namespace's first process dies, it kills all others and lets the
 * first be reaped only when all are gone. So the first process gets the signal, and the exit of the program that
 * created the namespace (unshare, bwrap) proves that nothing is left.
 *
 * Without one it is a search for processes that carry the command's marker in their environment, share its session or
 * group, or descend from such a process, repeated until a search finds nothing. Parents are killed before their children,
 * because a shell prints a line about a child that was killed. A process that has changed its environment, its session and
 * its parents before anyone looked escapes; that is why isolation `none` asks for approvals.
 *
 * A signal that asks for an end goes to the same processes, except to the first of a namespace, which is ours: its
 * death would kill the others at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  childrenOf,
  descendantsOf,
  isAlive,
  kill,
  listPids,
  type ProcessEntry,
  readProcesses,
  readVariable,
} from '../../host/process-table.ts';

/** Names the execution that a process belongs to, as `<server>:<workspaces>:<execution>`. */
export const MARKER_VARIABLE = 'TALARIA_EXECUTION';

const RETRY_MS = 5;
/** How long ending may take before the caller gets its answer anyway; only an unkillable process takes this long. */
const PATIENCE_MS = 3_000;

export interface Exit {
  done: boolean;
}

/** True when everything is gone. */
export async function endNamespace(outerPid: number, exit: Exit): Promise<boolean> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!exit.done && Date.now() < deadline) {
    // Until the namespace exists there is no child yet; it comes in a moment.
    for (const pid of childrenOf(outerPid)) kill(pid);
    await delay(RETRY_MS);
  }
  if (!exit.done) kill(outerPid);
  return exit.done;
}

export function signalNamespace(outerPid: number, signal: NodeJS.Signals): void {
  signalBelow(childrenOf(outerPid), signal);
}

/** To all descendants of the first processes of namespaces. */
export function signalBelow(firsts: readonly number[], signal: NodeJS.Signals): void {
  const found = descendantsOf(firsts);
  for (const pid of found) if (!firsts.includes(pid)) kill(pid, signal);
}

/**
 * `since`: seconds after boot before which none of them can have been started. True when a search finds nothing any
 * more.
 */
export async function endMarked(leaderPid: number, marker: string, since: number): Promise<boolean> {
  const deadline = Date.now() + PATIENCE_MS;
  do {
    kill(-leaderPid);
    const found = findMarked(leaderPid, marker, since);
    if (found.length === 0) return true;
    for (const { pid } of found) kill(pid);
    await delay(RETRY_MS);
  } while (Date.now() < deadline);
  return false;
}

export function signalMarked(leaderPid: number, marker: string, since: number, signal: NodeJS.Signals): void {
  for (const { pid } of findMarked(leaderPid, marker, since)) kill(pid, signal);
}

function findMarked(leaderPid: number, marker: string, since: number): ProcessEntry[] {
  const processes = readProcesses().filter((entry) => !entry.zombie && entry.startedAt >= since);
  const ours = new Map<number, ProcessEntry>();
  for (const entry of processes) {
    const related =
      entry.pid === leaderPid ||
      entry.group === leaderPid ||
      entry.session === leaderPid ||
      readVariable(entry.pid, MARKER_VARIABLE) === marker;
    if (related) ours.set(entry.pid, entry);
  }
  for (let before = -1; before !== ours.size; ) {
    before = ours.size;
    for (const entry of processes) {
      if (ours.has(entry.ppid) || ours.has(entry.session) || ours.has(entry.group))
        ours.set(entry.pid, entry);
    }
  }
  return [...ours.values()];
}

/** Ends what a killed server left behind in these workspaces; never what a living one runs. */
export function endAbandoned(workspacesKey: string): void {
  for (const pid of listPids()) {
    const [server, key] = readVariable(pid, MARKER_VARIABLE)?.split(':') ?? [];
    if (server === undefined || key !== workspacesKey || isAlive(server)) continue;
    kill(pid);
  }
}
