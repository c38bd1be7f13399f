/** The machine that the figures were measured on, as far as it explains them. */
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

export interface Machine {
  node: string;
  platform: string;
  cpu: string;
  cores: number;
  memoryGib: number;
  /** The load of the minute before; above zero something else is running too. */
  load: number;
}

export function describeMachine(): Machine {
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 1024 ** 3),
    load: Number(loadavg()[0]!.toFixed(1)),
  };
}

export function printMachine({ node, platform, cpu, cores, memoryGib, load }: Machine): string {
  return `Node ${node}, ${platform}, ${cores} cores (${cpu}), ${memoryGib} GiB; load before the start ${load}`;
}
