/**
 * The control groups that this process creates carry its name, so that the next server knows which of them nobody needs
 * any more: `talaria-<process>-<what>`.
 */
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, kill, processToken } from '../../host/process-table.ts';

const NAME = /^talaria-(?<owner>\d+-[\d.]+)-(?<what>.+)$/;
const SERVER = 'server';
/** A process leaves its group a moment after it has ended. */
const REMOVE_ATTEMPTS = 20;
const RETRY_MS = 5;

export function groupName(what: string): string {
  return `talaria-${processToken()}-${what}`;
}

/** The group a server of version 2 moves itself into; its siblings are the groups of slots. */
export function serverGroupName(): string {
  return groupName(SERVER);
}

export function isServerGroup(name: string): boolean {
  return NAME.exec(name)?.groups?.what === SERVER;
}

/** Removes the groups of dead servers, with what still runs in their slots. Never those of a living one. */
export async function sweepGroups(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const owner = NAME.exec(name)?.groups?.owner;
    if (owner === undefined || isAlive(owner)) continue;
    const group = join(dir, name);
    // The processes in a server's group are not commands of a slot: others may need them.
    if (!isServerGroup(name)) await killMembers(group);
    await removeGroup(group);
  }
}

/** False if something in it survives; the group is then left for a later sweep. */
export async function removeGroup(dir: string): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await rmdir(dir);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return true;
      if (code !== 'EBUSY' || attempt === REMOVE_ATTEMPTS) return false;
    }
    await delay(RETRY_MS);
  }
}

async function killMembers(dir: string): Promise<void> {
  const members = await readFile(join(dir, 'cgroup.procs'), 'utf8').catch(() => '');
  for (const pid of members.split('\n').filter(Boolean)) kill(Number(pid));
}
