/**
 * The space that a mounted directory has gained since its slot was acquired. What the operator has in it does not count
 * against the limit of a workspace, and it may be on another file system than the workspaces.
 */
import { DiskMeter } from './disk-meter.ts';
import type { SpaceOptions } from './workspace-space.ts';

export function growthOf(dir: string, { limitBytes, usage }: SpaceOptions): SpaceOptions {
  let first: Promise<number> | undefined;
  return {
    limitBytes,
    meter: new DiskMeter(dir),
    usage: async (dirs) => {
      const used = usage(dirs);
      first ??= used.catch((error) => {
        first = undefined;
        throw error;
      });
      return Math.max(0, (await used) - (await first));
    },
  };
}
