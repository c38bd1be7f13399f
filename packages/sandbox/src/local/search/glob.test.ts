import fc from 'fast-check';
import { expect, test } from 'vitest';
import { globToRegex } from './glob.ts';

const matches = (glob: string, path: string) => new RegExp(`^(?:${globToRegex(glob)})$`).test(`./${path}`);

test.each([
  ['*.ts', ['a.ts', 'x/y/a.ts', '.ts'], ['a.tsx', 'a_ts']],
  ['src/*.ts', ['src/a.ts'], ['a.ts', 'src/b/a.ts', 'x/src/a.ts']],
  ['src/**/*.ts', ['src/a.ts', 'src/b/c/a.ts'], ['a.ts', 'srcs/a.ts']],
  ['**/test/**', ['test/a', 'x/test/a/b'], ['test', 'x/testa/b']],
  ['/a.ts', ['a.ts'], ['x/a.ts']],
  ['./a.ts', ['a.ts', 'x/a.ts'], ['b.ts']],
  ['a?.[ch]', ['ab.c', 'ab.h'], ['a.c', 'a/.c', 'ab.d']],
  ['[!a-c]x', ['dx'], ['ax']],
  ['*.{ts,js{,x}}', ['a.ts', 'a.js', 'a.jsx'], ['a.tsx', 'a.']],
  ['a{b', ['a{b'], ['ab']],
  ['a,b}', ['a,b}'], ['a']],
  ['a[b', ['a[b'], ['ab']],
  ['\\*.ts', ['*.ts'], ['a.ts']],
  ['a+(b).$', ['a+(b).$'], ['aab.']],
])('%s', (glob, yes, no) => {
  expect(yes.filter((path) => !matches(glob, path))).toEqual([]);
  expect(no.filter((path) => matches(glob, path))).toEqual([]);
});

test('a name without signs matches itself and nothing else', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (name, other) => {
      fc.pre(!/[*?[\]{}\\/]/.test(name + other) && name !== other && name !== '.');
      expect(matches(name, name)).toBe(true);
      expect(matches(name, other)).toBe(false);
    }),
  );
});
