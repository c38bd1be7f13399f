/**
 * Removes what a crash left: containers of this server that no living process owns, and the directories of dead
 * instances once the workspaces in them are back in their place. Never what belongs to another server, whose id is
 * another, or to an instance that lives, whose lease is held.
 */
import { dirname } from 'node:path';
import type { DockerApi } from '../docker/docker-api.ts';
import { type HostDirectory, LABELS } from './host-directory.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

export interface SweepOptions {
  api: DockerApi;
  host: HostDirectory;
  places: WorkspacePlaces;
  /** Whether this instance has a container of this name, or is about to. */
  knows(name: string): boolean;
  onTrouble(message: string): void;
}

export async function sweep({ api, host, places, knows, onTrouble }: SweepOptions): Promise<void> {
  /** Instances with a container that could not be removed and may still be writing. */
  const spared = new Set<string>();
  for (const { Id, Names, Labels } of await api.listContainers(`${LABELS.server}=${host.serverId}`)) {
    const owner = await host.ownerOf(Labels);
    // The daemon puts a slash before a name.
    if (owner === 'other' || (owner === 'this' && Names.some((name) => knows(name.slice(1))))) continue;
    await api.removeContainer(Id).catch((error: Error) => {
      spared.add(dirname(Labels[LABELS.lease] ?? ''));
      onTrouble(`The abandoned container ${Id} could not be removed: ${error.message}`);
    });
  }
  for (const instance of await host.abandoned()) {
    if (spared.has(instance.path)) continue;
    try {
      for (const directory of instance.containers) await places.takeOutAll(directory);
      await instance.remove();
    } catch (error) {
      onTrouble(`What is left in ${instance.path} could not be saved: ${(error as Error).message}`);
    }
  }
}
