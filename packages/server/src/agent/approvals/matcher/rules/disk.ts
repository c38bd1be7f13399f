/**
 * Disks.
 *
 * | command                                        | verdict                     |
 * |------------------------------------------------|-----------------------------|
 * | mkfs, mkswap, wipefs … on a disk               | never                       |
 * | the same on an image, a loop device, `$DEV`    | ask: format filesystem      |
 * | dd of=disk; any write to a disk                | never                       |
 * | dd otherwise                                   | ask: disk copy              |
 * | any write to a loop or memory device           | ask: write to block device  |
 * | fdisk, parted on a disk                        | ask; never if it relabels   |
 * | listing (`fdisk -l`, `wipefs` without options) | allow                       |
 */
import { NEVER } from '../families.ts';
import type { Call, Host, RuleTable } from '../host.ts';
import { hasAny, readOptions } from '../options.ts';
import { deviceAt } from '../paths.ts';

const INFORMS = ['help', 'version', 'h', 'V'];

export const DISK_RULES: RuleTable = {
  ...named(
    ['mkfs', 'mke2fs', 'mkswap', 'mkdosfs', 'mkntfs', 'newfs', 'pvcreate', 'blkdiscard', 'mkfs_msdos'],
    format,
  ),
  dd: copyDisk,
  dcfldd: copyDisk,
  dc3dd: copyDisk,
  ddrescue: (call) => writeLast(call),
  wipefs: (call) => {
    if (hasAny(readOptions(call.args), ['a', 'all', 'o', 'offset'])) format(call);
  },
  badblocks: (call) => {
    if (hasAny(readOptions(call.args), ['w'])) format(call);
  },
  cryptsetup: (call) => {
    if (call.args.some((arg) => /^(?:luksFormat|erase|luksErase|reencrypt)$/.test(arg))) format(call);
  },
  hdparm: (call) => {
    if (call.args.some((arg) => /^--(?:security-erase|trim-sector|write-sector|make-bad)/.test(arg)))
      format(call);
  },
  nvme: (call) => {
    if (/^(?:format|sanitize|write-zeroes|delete-ns)$/.test(call.args[0] ?? '')) format(call);
  },
  zpool: (call) => {
    if (/^(?:create|destroy|labelclear)$/.test(call.args[0] ?? '')) format(call);
  },
  mdadm: (call) => {
    if (call.args.some((arg) => /^(?:-C|--create|--zero-superblock)$/.test(arg))) format(call);
  },
  diskutil: ({ args, host }) => {
    if (/^(?:erase|zeroDisk|secureErase|partitionDisk|reformat)/i.test(args[0] ?? '')) {
      host.scope.never = NEVER.disk;
    }
  },
  ...named(['fdisk', 'sfdisk', 'cfdisk', 'gdisk', 'sgdisk', 'parted'], partition),
};

function named(names: string[], rule: RuleTable[string]): RuleTable {
  return Object.fromEntries(names.map((name) => [name, rule]));
}

/** A write to this path; shared by every rule that knows where a command writes. */
export function writeDevice(path: string, host: Host): void {
  const device = deviceAt(path, host.scope.cwd);
  if (device === 'disk') host.scope.never = NEVER.disk;
  else if (device === 'virtual') host.scope.report('write to block device');
}

export function format({ args, host }: Call): void {
  const options = readOptions(args);
  if (options.operands.length === 0 && hasAny(options, INFORMS)) return;
  host.scope.report('format filesystem');
  if (args.some((arg) => deviceAt(arg, host.scope.cwd) === 'disk')) host.scope.never = NEVER.disk;
}

function copyDisk({ args, host }: Call): void {
  if (args.every((arg) => /^--(?:help|version)$/.test(arg))) return;
  host.scope.report('disk copy');
  for (const arg of args) {
    if (arg.startsWith('of=')) writeDevice(arg.slice(3), host);
  }
}

function writeLast({ args, host }: Call): void {
  const target = readOptions(args, { short: 'bcisTr' }).operands[1];
  host.scope.report('disk copy');
  if (target !== undefined) writeDevice(target, host);
}

const READS = /^(?:-l|--list|-p|--print|-d|--dump|-v|--verify|-V|--version|--help|-h|print|-s|--show-size)$/;
const RELABELS =
  /^(?:mklabel|mktable|mkpart|rm|resizepart|-Z|-z|-o|--zap|--zap-all|--clear|--delete|-d\d+|-n\S*|--wipe)$/;

function partition(call: Call): void {
  const { args, host, name } = call;
  const onDisk = args.some((arg) => deviceAt(arg, host.scope.cwd) !== undefined);
  if (args.some((arg) => READS.test(arg)) && !args.some((arg) => RELABELS.test(arg))) return;
  if (!onDisk && name !== 'sfdisk' && args.length === 0) return;
  if (args.some((arg) => RELABELS.test(arg)) || name === 'sfdisk') format(call);
  else host.scope.report('format filesystem');
}
