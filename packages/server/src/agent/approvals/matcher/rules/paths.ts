/**
 * Where a path leads, after `//`, `.`, `..`, `~`, globs and a known `cd`.
 *
 * The line between never and ask for deletion runs here: `wipes` is true for the root, a directory the
 * system lives in, every home and a single home; anything below those asks.
 */
import { ANY, couldBe, HOME, hasHole, STAR } from '../walk/marks.ts';

export interface Place {
  /** `~` for the home directory, `` for a relative path with an unknown start */
  base: '/' | '~' | '';
  segments: string[];
}

const SYSTEM_DIRECTORIES =
  'bin boot dev etc home lib lib32 lib64 proc root sbin sys usr var Applications Library System Users'.split(
    ' ',
  );
const HOMES = ['home', 'Users'];
/** Only these names in `../etc` mean the system's: a project rarely has them above the directory that a command starts in. */
const CLIMBED_INTO = /^(?:etc|usr|boot|proc|sys|root|sbin)$/;
const MAX_SEGMENTS = 1_000;

export function placeOf(path: string, cwd: string | undefined): Place {
  const absolute = path.startsWith('/') || path.startsWith(HOME);
  const full = absolute || cwd === undefined ? path : `${cwd}/${path}`;
  let base: Place['base'] = full.startsWith('/') ? '/' : full.startsWith(HOME) ? '~' : '';
  const segments: string[] = [];
  for (const segment of (base === '~' ? full.slice(1) : full).split('/').slice(0, MAX_SEGMENTS)) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') {
      segments.push(segment);
    } else if (base === '~' && segments.length === 0) {
      base = '/';
      segments.push('home');
    } else if (base !== '' || (segments.length > 0 && segments.at(-1) !== '..')) {
      segments.pop();
    } else {
      segments.push('..');
    }
  }
  // Every process sees the root under these names too.
  while (base === '/' && segments[0] === 'proc' && segments[2] === 'root') segments.splice(0, 3);
  return { base, segments };
}

/**
 * The same as `placeOf`, but `../../etc/hosts` is taken for `/etc/hosts`: nobody knows where a command starts, and the root is
 * only a few steps above the workspace.
 */
export function systemPlaceOf(path: string, cwd: string | undefined): Place {
  const place = placeOf(path, cwd);
  const above = place.segments.findIndex((segment) => segment !== '..');
  if (place.base !== '' || above < 1 || !CLIMBED_INTO.test(place.segments[above]!)) return place;
  return { base: '/', segments: place.segments.slice(above) };
}

/** One spelling per place, to recognise a file again. */
export function pathKey(path: string, cwd: string | undefined): string {
  const { base, segments } = placeOf(path, cwd);
  return `${base === '~' ? '~/' : base}${segments.join('/')}`;
}

export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || path.startsWith(HOME);
}

/** Whether deleting this recursively wipes the root, a system directory or a home. */
export function wipes(path: string, cwd: string | undefined): boolean {
  const { base, segments } = placeOf(path, cwd);
  let end = segments.length;
  while (end > 0 && matchesEverything(segments[end - 1]!)) end--;
  const first = segments[0];
  if (base === '~') return end === 0;
  if (base !== '/') return false;
  if (end === 0 || first === undefined) return true;
  if (end === 1) return !hasHole(first) && SYSTEM_DIRECTORIES.some((name) => couldBe(first, name));
  return end === 2 && HOMES.includes(first);
}

/** `*`, `.*`, `.[!.]*`, `?*`: all names, or all hidden ones. */
function matchesEverything(segment: string): boolean {
  return segment.includes(STAR) && [...segment].every((c) => c === STAR || c === ANY || c === '.');
}

/** Disks hold data that cannot come back; loop and memory devices are usually an image being built. */
const DISKS =
  'sda sda1 sdb hda vda vda1 xvda nvme0 nvme0n1 nvme0n1p1 mmcblk0 mmcblk0p1 disk0 disk1 rdisk0 rdisk1 dm-0 md0 md127 sr0 mtdblock0 pmem0'.split(
    ' ',
  );
const DISK_NAME =
  /^(?:[shv]d[a-z]+\d*|xvd[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+\w*|r?disk\d+\w*|dm-\d+|md\d+\w*|sr\d+|mtd\w+|pmem\d+\w*|zd\d+\w*|dasd[a-z]+\d*)$/;
const VIRTUAL_NAME = /^(?:loop\d+\w*|z?ram\d+|nbd\d+\w*|mem|kmem|port|fd\d+)$/;
const DISK_FOLDERS = ['mapper', 'disk', 'block', 'md', 'vg0', 'zvol', 'rdsk', 'dsk'];
const HARMLESS_DEVICES =
  /^(?:null|zero|full|random|urandom|tty.*|pts|ptmx|console|std(?:in|out|err)|fd|shm|tcp|udp|log|kmsg|mqueue|dri|snd|input|fuse|kvm|net|watchdog\d*)$/;

export type Device = 'disk' | 'virtual' | undefined;

/** The kind of block device a path names; `/dev/group/volume` of an unknown group counts as virtual. */
export function deviceAt(path: string, cwd: string | undefined): Device {
  const { base, segments } = placeOf(path, cwd);
  const [dev, name, inner] = segments;
  if (base !== '/' || dev !== 'dev' || name === undefined) return undefined;
  if (DISK_NAME.test(name) || (inner !== undefined && DISK_FOLDERS.includes(name))) return 'disk';
  if (HARMLESS_DEVICES.test(name)) return undefined;
  if (VIRTUAL_NAME.test(name) || hasHole(name)) return 'virtual';
  if (name.includes(STAR) || name.includes(ANY)) {
    return DISKS.some((disk) => couldBe(name, disk)) ? 'disk' : undefined;
  }
  return inner === undefined ? undefined : 'virtual';
}
