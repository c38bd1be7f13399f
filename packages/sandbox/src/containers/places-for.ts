import type { Workspaces } from '../workspace/workspaces.ts';
import type { ContainerDriver } from './container-driver.ts';
import { HostPlaces } from './host-places.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

/** `kept` has the workspaces that no slot has. */
export function placesFor({ workspaces }: ContainerDriver, kept: Workspaces): WorkspacePlaces {
  if (workspaces.on === 'host') return new HostPlaces(kept, workspaces.owner);
  throw new Error('not yet');
}
