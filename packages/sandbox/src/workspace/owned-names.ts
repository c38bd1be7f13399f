/**
 * The names of what a process has beside the workspaces for a while. Each says which process, so a backend that starts beside
 * another one, or while the last one is still ending, deletes nothing of it.
 */
import { randomUUID } from 'node:crypto';
import { isAlive, processToken } from '../host/process-table.ts';

/** A new name of this process. */
export function ownedName(): string {
  return `${processToken()}-${randomUUID()}`;
}

/** True if the process that made the name has ended. */
export function isAbandoned(name: string): boolean {
  const owner = /^(\d+-[\d.]+)-/.exec(name)?.[1];
  return owner === undefined || !isAlive(owner);
}
