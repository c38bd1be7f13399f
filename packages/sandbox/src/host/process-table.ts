/**
 * Reads /proc about processes. Every answer may be outdated when it arrives; callers check again.
 *
 * The reads are synchronous: /proc is memory, and a read takes some ten microseconds. Through the thread pool, reading
 * all processes costs ten times as much and competes with everything else's reads and writes.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  pid: number;
  ppid: number;
  group: number;
  session: number;
  zombie: boolean;
  /** Seconds since boot, to a hundredth. */
  startedAt: number;
}

/** The unit of times in /proc, the same on every architecture Node is built for. */
const TICKS_PER_S = 100;

function readProcess(pid: number): ProcessEntry | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ppid, group, session] = fields;
  return {
    pid,
    ppid: Number(ppid),
    group: Number(group),
    session: Number(session),
    zombie: state === 'Z' || state === 'X',
    startedAt: Number(fields[19]) / TICKS_PER_S,
  };
}

/** In ascending order, so a process usually comes before those it has started. Node sorts names of files, and 10 before 9. */
export function listPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((one, other) => one - other);
}

export function readProcesses(): ProcessEntry[] {
  return listPids()
    .map(readProcess)
    .filter((entry) => entry !== undefined);
}

export function childrenOf(pid: number): number[] {
  const listed = readIfThere(`/proc/${pid}/task/${pid}/children`);
  if (listed !== undefined) return listed.split(' ').filter(Boolean).map(Number);
  // A kernel built without that file, or a process that is gone.
  return readProcesses()
    .filter((entry) => entry.ppid === pid)
    .map((entry) => entry.pid);
}

/** The pids of a process in each pid namespace it is in, from ours to its own; empty if it has ended. */
export function namespacePids(pid: number): number[] {
  const line = /^NSpid:\s+(.*)$/m.exec(readIfThere(`/proc/${pid}/status`) ?? '')?.[1];
  return line?.split(/\s+/).map(Number) ?? [];
}

/** These processes and all their descendants. */
export function descendantsOf(roots: readonly number[]): Set<number> {
  const children = Map.groupBy(readProcesses(), ({ ppid }) => ppid);
  const found = new Set(roots);
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  return found;
}

/**
 * One variable of the environment that a process was started with; undefined if it is absent, if we may not read it, or
 * if the process has ended.
 */
export function readVariable(pid: number, name: string): string | undefined {
  const prefix = `${name}=`;
  return readIfThere(`/proc/${pid}/environ`)
    ?.split('\0')
    .find((entry) => entry.startsWith(prefix))
    ?.slice(prefix.length);
}

/** Seconds since boot, on the clock of `startedAt`. */
export function readUptime(): number {
  return Number.parseFloat(readFileSync('/proc/uptime', 'utf8'));
}

let own: string | undefined;

/** Identifies this process, so that a later one with the same pid is not confused with it. */
export function processToken(): string {
  own ??= tokenOf(readProcess(process.pid) ?? { pid: process.pid, startedAt: 0 });
  return own;
}

/** The `processToken` of each existing process. */
export function livingTokens(): string[] {
  return readProcesses()
    .filter(({ zombie }) => !zombie)
    .map(tokenOf);
}

function tokenOf({ pid, startedAt }: Pick<ProcessEntry, 'pid' | 'startedAt'>): string {
  return `${pid}-${startedAt}`;
}

export function isAlive(token: string): boolean {
  const [pid, startedAt] = token.split('-').map(Number);
  const entry = readProcess(Number(pid));
  return entry !== undefined && !entry.zombie && entry.startedAt === startedAt;
}

export function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Already gone, or reused by another process.
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
