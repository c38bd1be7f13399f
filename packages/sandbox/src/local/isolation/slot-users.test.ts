import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Workspaces } from '../../workspace/workspaces.ts';
import { rangeWithin, SlotUsers } from './slot-users.ts';

const WHOLE = '         0          0 4294967295\n';

test('on a machine slots get users that nobody else has', () => {
  expect(rangeWithin([WHOLE, WHOLE])).toEqual({ first: 2_000_000_000, last: 2_000_065_535 });
});

test('in a namespace with subordinate users slots get some of those', () => {
  const subordinate = '         0       1000          1\n         1     100000      65536\n';
  expect(rangeWithin([subordinate, subordinate])).toEqual({ first: 20_000, last: 65_533 });
  expect(rangeWithin([subordinate, '0 1000 1\n1 100000 30000\n'])).toEqual({ first: 20_000, last: 30_000 });
});

test('a namespace with one user has no users for slots', () => {
  expect(rangeWithin(['0 1000 1\n', '0 1000 1\n'])).toBeUndefined();
});

test.skipIf(process.getuid?.() !== 0)(
  'a workspace keeps its user, and gets another when a slot has that user (needs root)',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'talaria-users-test-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const workspaces = await Workspaces.open(dir);
    const users = new SlotUsers({ first: 2_000_000_000, last: 2_000_000_001 });
    const [one, two, three] = await Promise.all(['t-1', 't-2', 't-3'].map((name) => workspaces.create(name)));
    const first = await users.hold(one!);
    const second = await users.hold(two!);
    expect(new Set([first.user, second.user])).toEqual(new Set([2_000_000_000, 2_000_000_001]));
    await expect(users.hold(three!)).rejects.toMatchObject({ code: 'slot_unavailable' });
    users.release(first);
    const failing = () => {
      throw new Error('no room');
    };
    await expect(users.hold(one!, failing)).rejects.toThrow('no room');
    expect((await users.hold(one!)).user).toBe(first.user);
    users.release(first);
    expect((await users.hold(three!)).user).toBe(first.user);
    users.release(second);
    expect((await users.hold(one!)).user).toBe(second.user);
    expect([statSync(one!.dir).uid, statSync(one!.tmpDir).uid]).toEqual([second.user, second.user]);
  },
);
