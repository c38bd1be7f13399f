import type { Workspaces } from '../workspace/workspaces.ts';
import type { ContainerDriver } from './container-driver.ts';
import { ContainerPlaces } from './container-places.ts';
import { HostPlaces } from './host-places.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

/** `kept` has the workspaces that no slot has. */
export function placesFor({ workspaces }: ContainerDriver, kept: Workspaces): WorkspacePlaces {
  return workspaces.on === 'host' ? new HostPlaces(kept, workspaces.owner) : new ContainerPlaces(kept);
}
