import { expect, test } from 'vitest';
import { fstabLine, keptOptions, mountsInside } from './mounts.ts';

const MOUNTS = [
  { path: '/', options: ['rw', 'relatime'] },
  { path: '/usr', options: ['rw', 'nodev'] },
  { path: '/usr', options: ['ro', 'nosuid', 'relatime'] },
  { path: '/usr/local', options: ['rw', 'noexec'] },
  { path: '/usrdata', options: ['rw', 'nosuid'] },
];

test('a path keeps the restrictions of the mount that covers it', () => {
  expect(keptOptions(MOUNTS, '/etc')).toEqual([]);
  expect(keptOptions(MOUNTS, '/usr/bin')).toEqual(['ro', 'nosuid']);
  expect(keptOptions(MOUNTS, '/usr/local')).toEqual(['noexec']);
  expect(keptOptions(MOUNTS, '/usrdata/x')).toEqual(['nosuid']);
});

test('mounts inside a directory do not include itself or its neighbours', () => {
  expect(mountsInside(MOUNTS, '/usr').map((mount) => mount.path)).toEqual(['/usr/local']);
});

test('an fstab line escapes what would end a field', () => {
  expect(fstabLine('/a b', '/c\t#\\d', 'none', ['bind', 'ro', 'ro'])).toBe(
    '/a\\040b /c\\011\\043\\134d none bind,ro 0 0\n',
  );
});
