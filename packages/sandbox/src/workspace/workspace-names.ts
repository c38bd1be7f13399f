/** The directory names of workspaces, by the ids of their trajectories. */
import { createHash, randomUUID } from 'node:crypto';
import { SandboxError } from '../errors.ts';

/** Ids of this form are readable as a directory name; every other id is hashed. The prefixes keep the two apart. */
const READABLE_ID = /^[A-Za-z0-9_.-]{1,100}$/;
export const WORKSPACE_NAME = /^[tha]-[A-Za-z0-9_.-]+$/;

/** Throws `invalid_request` for an id of another type: it would turn into text, and so into the name of some workspace. */
export function workspaceName(trajectoryId: string): string {
  checkTrajectoryId(trajectoryId);
  if (READABLE_ID.test(trajectoryId)) return `t-${trajectoryId}`;
  return `h-${createHash('sha256').update(trajectoryId).digest('hex')}`;
}

/** The trajectory of the workspace with this name; undefined if the name does not tell. */
export function trajectoryOf(name: string): string | undefined {
  const id = name.startsWith('t-') ? name.slice(2) : '';
  return READABLE_ID.test(id) ? id : undefined;
}

export function checkTrajectoryId(trajectoryId: unknown): void {
  if (typeof trajectoryId === 'string') return;
  const given = trajectoryId == null ? String(trajectoryId) : `a ${typeof trajectoryId}`;
  throw new SandboxError('invalid_request', `A trajectory id should be a string, not ${given}.`);
}

export function anonymousWorkspaceName(): string {
  return `a-${randomUUID()}`;
}
