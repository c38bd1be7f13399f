/**
 * The mounts of the host, and what is needed to make parts of it read-only. In a user namespace a mount keeps the
 * restrictions it has outside, and a remount that does not repeat them is refused.
 */
import { readFile } from 'node:fs/promises';
import { isBeneath } from '../../host/is-beneath.ts';

export interface Mount {
  path: string;
  options: string[];
}

export interface MountEntry extends Mount {
  /** Which part of the file system is mounted: a path inside it. */
  root: string;
  type: string;
  /** Options of the file system, not of this mount. */
  superOptions: string[];
}

const KEPT_OPTIONS = new Set(['ro', 'nosuid', 'nodev', 'noexec']);

export async function readMounts(): Promise<MountEntry[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

export function parseMounts(mountinfo: string): MountEntry[] {
  return mountinfo
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [, , , root = '/', path = '/', options = '', ...rest] = line.split(' ');
      // A list of any length comes before the dash.
      const [type = '', , superOptions = ''] = rest.slice(rest.indexOf('-') + 1);
      return {
        root: unescapePath(root),
        path: unescapePath(path),
        options: options.split(','),
        type,
        superOptions: superOptions.split(','),
      };
    });
}

/** The restrictions of a path that a bind mount of it has to keep. */
export function keptOptions(mounts: readonly Mount[], path: string): string[] {
  let found: Mount | undefined;
  for (const mount of mounts) {
    // If two mounts have the same path, the later one hides the earlier.
    if (isBeneath(path, mount.path) && mount.path.length >= (found?.path.length ?? 0)) found = mount;
  }
  return found?.options.filter((option) => KEPT_OPTIONS.has(option)) ?? [];
}

export function mountsInside(mounts: readonly Mount[], dir: string): Mount[] {
  return mounts.filter((mount) => mount.path !== dir && isBeneath(mount.path, dir));
}

/** One line of an fstab(5). */
export function fstabLine(source: string, target: string, type: string, options: readonly string[]): string {
  return `${escapePath(source)} ${escapePath(target)} ${type} ${[...new Set(options)].join(',')} 0 0\n`;
}

function escapePath(path: string): string {
  return path.replace(/[\\ \t\n#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

function unescapePath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
