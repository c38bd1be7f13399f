/** The processor time and memory of a process and of everything that it has started, from /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** `getconf CLK_TCK`, which is 100 on every Linux that Node runs on. */
const TICK_MS = 10;
/** In /proc/PID/stat after the name of the program: the parent, and the times of the process and of its ended children. */
const [PARENT, TIMES_FROM, TIMES_TO] = [1, 11, 15];

/** Processor time since their start. The difference of two readings is what happened in between. */
export function processorMs(pids: readonly number[]): number {
  const ticks = tree(pids).flatMap((pid) => (statOf(pid) ?? []).slice(TIMES_FROM, TIMES_TO).map(Number));
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}

/** Resident memory, in which pages that processes share count once. */
export function residentMib(pids: readonly number[]): number {
  const kib = tree(pids).map((pid) => {
    const text = attempt(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? '';
    return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0);
  });
  return kib.reduce((sum, each) => sum + each, 0) / 1024;
}

function tree(roots: readonly number[]): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = Map.groupBy(all.map(Number), (pid) => Number(statOf(pid)?.[PARENT]));
  const found = [...roots];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** Undefined for a process that has ended. */
function statOf(pid: number): string[] | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
