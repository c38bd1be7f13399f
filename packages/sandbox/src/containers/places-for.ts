import type { Workspaces } from '../workspace/workspaces.ts';
import type { ContainerDriver } from './container-driver.ts';
import type { ContainerBackendOptions } from './container-options.ts';
import { ContainerPlaces } from './container-places.ts';
import { HostPlaces } from './host-places.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

/** For a workspace that the operator gave no limit. */
const MAX_BYTES = 16 * 1024 ** 3;
/**
 * A workspace may be larger here than in its container: there a sparse file takes no room, nor does each further name of a file.
 * The bound limits a lying container. Workspaces with the hard links of a package manager stay far below it.
 */
const MAX_BYTES_PER_LIMIT = 4;

/** `kept` has the workspaces that no slot has. */
export function placesFor(
  { workspaces }: ContainerDriver,
  kept: Workspaces,
  { limits, preferredLimits }: Pick<ContainerBackendOptions, 'limits' | 'preferredLimits'>,
): WorkspacePlaces {
  if (workspaces.on === 'host') return new HostPlaces(kept, workspaces.owner);
  const limit = limits?.workspaceBytes ?? preferredLimits?.workspaceBytes;
  return new ContainerPlaces(kept, limit === undefined ? MAX_BYTES : limit * MAX_BYTES_PER_LIMIT);
}
