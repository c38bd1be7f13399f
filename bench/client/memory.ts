/** The resident memory of another process, after its garbage is collected (see processes/collect-on-signal.ts). */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const COLLECTIONS = 4;
const SETTLE_MS = 150;

/** Options of Node for a process whose memory is measured. */
export const MEASURED_PROCESS = [
  `--import=${new URL('../processes/collect-on-signal.ts', import.meta.url).href}`,
  '--max-semi-space-size=1',
];

/** In KiB. The lowest of several readings: freed pages go back to the system a little later. */
export async function settledRssKib(pid: number): Promise<number> {
  const seen: number[] = [];
  for (let i = 0; i < COLLECTIONS; i++) {
    process.kill(pid, 'SIGUSR2');
    await delay(SETTLE_MS);
    seen.push(rssKib(pid));
  }
  return Math.min(...seen);
}

export function rssKib(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (match === null) throw new Error(`Process ${pid} has no resident memory to read`);
  return Number(match[1]);
}
