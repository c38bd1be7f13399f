/** The processor time of another process, all its threads together. */
import { readFileSync } from 'node:fs';

/** Linux counts processor time for programs in this unit, whatever the kernel's own clock is. */
const TICK_MS = 10;
/** Fields 14 and 15 of /proc/PID/stat, counted after the name, which may hold spaces. */
const USER_TIME = 11;

export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_TIME]) + Number(fields[USER_TIME + 1])) * TICK_MS;
}
