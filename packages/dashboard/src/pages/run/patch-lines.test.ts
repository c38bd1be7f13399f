import { expect, test } from 'vitest';
import { countLines, patchLines, patchOf } from './patch-lines.ts';

test('a patch over files becomes lines with their kinds', () => {
  const patch =
    '*** Begin Patch\n*** Update File: src/a.ts\n@@ main\n same\n-old\n+new\n+more\n*** Add File: b\n+b\n*** End Patch\n';
  const lines = patchLines(patch);
  expect(lines.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'file Update File: src/a.ts',
    'place @@ main',
    'same same',
    'removed old',
    'added new',
    'added more',
    'file Add File: b',
    'added b',
  ]);
  expect(countLines(lines)).toEqual({ added: 3, removed: 1 });
});

test('arguments that came cut or malformed are no patch', () => {
  expect(patchOf({ truncated: '{"path' })).toBeUndefined();
  expect(patchOf(null)).toBeUndefined();
  expect(patchOf({ path: 'a', old_string: 'x' })).toBeUndefined();
  expect(patchOf({ path: 'a', old_string: 'x', new_string: '' })).toEqual({
    path: 'a',
    old_string: 'x',
    new_string: '',
  });
});
