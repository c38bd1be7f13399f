import { expect, test } from 'vitest';
import { parseMounts } from '../isolation/mounts.ts';
import { ownGroups } from './own-groups.ts';

const UNIFIED = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n';

test('version 2 alone', () => {
  const groups = ownGroups('0::/system.slice/talaria.service\n', parseMounts(UNIFIED));
  expect(groups).toEqual({ v1: new Map(), v2: '/sys/fs/cgroup/system.slice/talaria.service' });
});

test('version 1, with two controllers in one hierarchy and a version 2 beside it', () => {
  const mounts = parseMounts(
    [
      '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
      '32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 master:3 - cgroup cgroup rw,cpu,cpuacct',
      '40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd',
      '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
    ].join('\n'),
  );
  const groups = ownGroups('9:name=systemd:/x\n4:memory:/a/b\n3:cpuset:/\n1:cpuacct,cpu:/\n0::/\n', mounts);
  expect(groups.v1).toEqual(
    new Map([
      ['memory', '/sys/fs/cgroup/memory/a/b'],
      ['cpu', '/sys/fs/cgroup/cpu,cpuacct'],
    ]),
  );
  expect(groups.v2).toBe('/sys/fs/cgroup/unified');
});

test('a container that sees its part of the hierarchy finds itself in it', () => {
  const mounts = parseMounts('41 31 0:38 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n');
  expect(ownGroups('0::/docker/c1/inner:x\n', mounts).v2).toBe('/sys/fs/cgroup/inner:x');
  expect(ownGroups('0::/docker/c10\n', mounts).v2).toBeUndefined();
});

test('ignores a group outside the namespace or without a mount', () => {
  expect(ownGroups('0::/../other\n', parseMounts(UNIFIED)).v2).toBeUndefined();
  expect(ownGroups('4:memory:/a\n', parseMounts(UNIFIED)).v1.size).toBe(0);
  expect(ownGroups('', parseMounts(UNIFIED))).toEqual({ v1: new Map(), v2: undefined });
});

test('a path with escaped characters is read as it is', () => {
  const mounts = parseMounts('41 31 0:38 / /mnt/c\\040g rw - cgroup2 cgroup2 rw\n');
  expect(ownGroups('0::/a b\n', mounts).v2).toBe('/mnt/c g/a b');
});
