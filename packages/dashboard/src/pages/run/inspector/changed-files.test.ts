import type { ChangedFile } from '@talaria/client';
import { expect, test } from 'vitest';
import { changesOf, totalOf } from './changed-files.ts';

const file = (fields: Partial<ChangedFile>): ChangedFile => ({
  path: 'a',
  status: 'modified',
  additions: 1,
  deletions: 2,
  binary: false,
  ...fields,
});

test('a rename is one entry, under its new name', () => {
  const none = { additions: 0, deletions: 0 };
  const changes = changesOf([
    file({ path: 'new', status: 'added', renamed_from: 'old', ...none }),
    file({ path: 'old', status: 'deleted', renamed_to: 'new', ...none }),
    file({ path: 'z' }),
  ]);
  expect(changes.map(({ path, kind, oldPath }) => [path, kind, oldPath])).toEqual([
    ['new', 'renamed', 'old'],
    ['z', 'modified', undefined],
  ]);
  expect(changes[0]!.why).toContain('old');
  expect(totalOf(changes)).toEqual({ added: 1, removed: 2 });
});

test('a file without lines says why', () => {
  const uncompared = { binary: true, additions: null, deletions: null };
  const none = { additions: 0, deletions: 0 };
  const whys = changesOf([
    file(uncompared),
    file({ ...uncompared, reason: 'too_large' }),
    file({ ...uncompared, reason: 'not_kept' }),
    file({ ...none, old_mode: '100644', mode: '100755' }),
    file({ ...none, status: 'added' }),
    file({}),
  ]).map(({ why }) => why);
  expect(whys.slice(0, -1).every((why) => why !== undefined)).toBe(true);
  expect(new Set(whys).size).toBe(6);
  expect(whys.at(-1)).toBeUndefined();
});
