import { describe, expect, it } from 'vitest';
import { parsePlace, workspacePath } from './place.ts';

describe('a side of a copy', () => {
  it.each([
    ['run_0193c7e8:src/a', 'run_0193c7e8', 'src/a'],
    ['run_0:', 'run_0', ''],
    ['0193c7:a:b', '0193c7', 'a:b'],
    ['run_0193c7e8:/workspace/a', 'run_0193c7e8', '/a'],
    ['run_0193c7e8:/workspace', 'run_0193c7e8', ''],
    ['run_0193c7e8:/workspaces', 'run_0193c7e8', '/workspaces'],
  ])('%s is of a run', (word, run, path) => {
    expect(parsePlace(word)).toEqual({ kind: 'run', run, path });
  });

  it.each(['.', 'src', './0193c7:x', 'abc:x', 'c:\\x', 'RUN_0193:x', 'run_xyz:a', '/tmp/run_0193:x', ''])(
    '%j is of this machine',
    (word) => {
      expect(parsePlace(word)).toEqual({ kind: 'here', path: word });
    },
  );
});

it.each([
  ['', ''],
  ['.', ''],
  ['./', ''],
  ['/', ''],
  ['a/', 'a'],
  ['/a//b/./c', 'a/b/c'],
  ['.hidden', '.hidden'],
  ['a/../b', 'b'],
  ['../a', '../a'],
])('%j is the path %j of a workspace', (given, path) => {
  expect(workspacePath(given)).toBe(path);
});
