/**
 * Removes what a crash left: containers of this server that belong to no living process, and the directories of dead
 * instances, after the workspaces in them are back in their place. It never removes what belongs to another server
 * (another id) or to a living instance (its lease is held).
 *
 * A container that another machine started may belong to a living server, too: to one whose directory was copied. The sweep removes
 * it when it has ended; without its owner it ends by itself. A server that shares a disk with its containers is on their machine,
 * even if that machine has a new name.
 */
import { dirname } from 'node:path';
import type { ContainerDriver } from './container-driver.ts';
import { type HostDirectory, LABELS } from './host-directory.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

export interface SweepOptions {
  driver: ContainerDriver;
  host: HostDirectory;
  places: WorkspacePlaces;
  /** Whether this instance has a container of this name, or is about to. */
  knows(name: string): boolean;
  onTrouble(message: string): void;
}

export async function sweep({ driver, host, places, knows, onTrouble }: SweepOptions): Promise<void> {
  /** Instances with a container that could not be removed and may still be writing. */
  const spared = new Set<string>();
  const far = driver.workspaces.on === 'container';
  for (const { name, labels, ended } of await driver.list(LABELS.server, host.serverId)) {
    const owner = await host.ownerOf(labels);
    if (owner === 'other' || (owner === 'this' && knows(name))) continue;
    if (owner === 'unknown' && far && !ended) continue;
    await driver.remove(name).catch((error: Error) => {
      spared.add(dirname(labels[LABELS.lease] ?? ''));
      onTrouble(`The abandoned container ${name} could not be removed: ${error.message}`);
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
