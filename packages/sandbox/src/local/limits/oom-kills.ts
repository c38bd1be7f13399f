/**
 * How often the kernel has ended a process of a control group because memory ran out, whichever limit was reached. In
 * version 2 the groups below it count too; in version 1 only its own processes do.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findOwnGroups } from './own-groups.ts';

export type OomKills = () => number;

/** This file system is in memory: read synchronously. A deleted group has ended nothing. */
export function oomKillsOf(dir: string, version: 1 | 2): OomKills {
  const path = join(dir, version === 2 ? 'memory.events' : 'memory.oom_control');
  return () => {
    try {
      return Number(/^oom_kill (\d+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
    } catch {
      return 0;
    }
  };
}

/**
 * For the group of this process, which its commands share if they have none of their own: in a container with a memory
 * limit that is the container's.
 */
export async function ownOomKills(): Promise<OomKills> {
  const { v1, v2 } = await findOwnGroups();
  const memory = v1.get('memory');
  if (memory !== undefined) return oomKillsOf(memory, 1);
  return v2 === undefined ? () => 0 : oomKillsOf(v2, 2);
}
