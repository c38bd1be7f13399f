import { expect, test } from 'vitest';
import { ignoreRules } from './ignore-rules.ts';

function ignored(pattern: string, path: string, isDirectory = false): boolean {
  return ignoreRules([pattern])!(Buffer.from(path).toString('latin1'), isDirectory);
}

test.each([
  ['node_modules', 'node_modules'],
  ['node_modules', 'a/b/node_modules'],
  ['*.o', 'src/main.o'],
  ['/build', 'build'],
  ['a/b', 'a/b'],
  ['a/**/z', 'a/z'],
  ['a/**/z', 'a/b/c/z'],
  ['**/z', 'a/z'],
  ['a/**', 'a/b/c'],
  ['file?', 'file1'],
  ['日本*', 'x/日本 🙂'],
  ['a+b(c)', 'a+b(c)'],
])('%s matches %s', (pattern, path) => {
  expect(ignored(pattern, path)).toBe(true);
});

test.each([
  ['node_modules', 'node_modules2'],
  ['node_modules', 'my_node_modules'],
  ['*.o', 'main.os'],
  ['/build', 'a/build'],
  ['a/b', 'x/a/b'],
  ['a/*', 'a/b/c'],
  ['a.b', 'axb'],
  ['a/**', 'a'],
])('%s does not match %s', (pattern, path) => {
  expect(ignored(pattern, path)).toBe(false);
});

test('a slash at the end matches directories only', () => {
  expect(ignored('out/', 'a/out', true)).toBe(true);
  expect(ignored('out/', 'a/out', false)).toBe(false);
});

test('without patterns there are no rules', () => {
  expect(ignoreRules([])).toBeUndefined();
  expect(ignoreRules(['', '/'])).toBeUndefined();
});
