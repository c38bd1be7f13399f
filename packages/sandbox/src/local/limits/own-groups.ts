/**
 * The control groups of this process, as directories: one for all controllers of version 2, one per hierarchy of
 * version 1. Machines mix the two, so each controller is looked up separately.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isBeneath } from '../../host/is-beneath.ts';
import { type MountEntry, readMounts } from '../isolation/mounts.ts';

export const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
export type Controller = (typeof CONTROLLERS)[number];

export interface OwnGroups {
  /** Hierarchies of version 1 that have the controller. */
  v1: ReadonlyMap<Controller, string>;
  /** Only its `cgroup.controllers` says whether it has a controller. */
  v2: string | undefined;
}

export async function findOwnGroups(): Promise<OwnGroups> {
  const membership = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
  return ownGroups(membership, await readMounts());
}

/** `membership` is the text of /proc/self/cgroup: lines of `<hierarchy>:<controllers>:<path>`. */
export function ownGroups(membership: string, mounts: readonly MountEntry[]): OwnGroups {
  const v1 = new Map<Controller, string>();
  let v2: string | undefined;
  for (const line of membership.split('\n')) {
    const [hierarchy, controllers = '', ...rest] = line.split(':');
    const path = rest.join(':');
    if (hierarchy === '0' && controllers === '') {
      v2 = directoryOf(path, mounts, (mount) => mount.type === 'cgroup2');
      continue;
    }
    for (const controller of CONTROLLERS) {
      if (!controllers.split(',').includes(controller)) continue;
      const isMountOf = (mount: MountEntry) =>
        mount.type === 'cgroup' && mount.superOptions.includes(controller);
      const dir = directoryOf(path, mounts, isMountOf);
      if (dir !== undefined) v1.set(controller, dir);
    }
  }
  return { v1, v2 };
}

/** Undefined if no mount shows the group, as for one outside the root of this process's cgroup namespace. */
function directoryOf(
  path: string,
  mounts: readonly MountEntry[],
  isMountOf: (mount: MountEntry) => boolean,
): string | undefined {
  const mount = mounts.findLast((each) => isMountOf(each) && isBeneath(path, each.root));
  if (mount === undefined || path.startsWith('/..')) return undefined;
  return resolve(mount.path, `.${mount.root === '/' ? path : path.slice(mount.root.length)}`);
}
