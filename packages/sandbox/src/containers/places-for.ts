import type { Workspaces } from '../workspace/workspaces.ts';
import type { ContainerDriver } from './container-driver.ts';
import type { ContainerBackendOptions } from './container-options.ts';
import { ContainerPlaces } from './container-places.ts';
import { HostPlaces } from './host-places.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

/** Where nothing is said about the size of a workspace. */
const MAX_WORKSPACE_BYTES = 16 * 1024 ** 3;

/** `kept` has the workspaces that no slot has. */
export function placesFor(
  { workspaces }: ContainerDriver,
  kept: Workspaces,
  { limits, preferredLimits }: Pick<ContainerBackendOptions, 'limits' | 'preferredLimits'>,
): WorkspacePlaces {
  if (workspaces.on === 'host') return new HostPlaces(kept, workspaces.owner);
  const maxBytes = limits?.workspaceBytes ?? preferredLimits?.workspaceBytes ?? MAX_WORKSPACE_BYTES;
  return new ContainerPlaces(kept, maxBytes);
}
