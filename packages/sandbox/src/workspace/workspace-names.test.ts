import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anonymousWorkspaceName, workspaceName } from './workspace-names.ts';

test('a trajectory id always names one entry of a directory, and always the same', () => {
  fc.assert(
    fc.property(fc.string(), (id) => {
      expect(workspaceName(id)).toMatch(/^[th]-[A-Za-z0-9_.-]{0,100}$/);
      expect(workspaceName(id)).toBe(workspaceName(id));
    }),
  );
});

test('no two ids share a name', () => {
  const hashed = workspaceName('a/b');
  const ids = [
    'a',
    'A',
    '.',
    '..',
    'a/b',
    hashed,
    hashed.slice(2),
    '',
    ' ',
    'x'.repeat(100),
    'x'.repeat(101),
  ];
  expect(new Set(ids.map(workspaceName)).size).toBe(ids.length);
  expect(anonymousWorkspaceName()).not.toBe(anonymousWorkspaceName());
});

test('an id that can be a directory stays readable', () => {
  expect(workspaceName('run_0123abc')).toBe('t-run_0123abc');
});
