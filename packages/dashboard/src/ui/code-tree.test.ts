import { expect, test } from 'vitest';
import { codeTree } from './code-tree.ts';

test.each([
  ['typescript', '`\u0024{'],
  ['bash', '"$('],
  ['python', "f'{"],
])('%s that nests too deep has no tree', (language, piece) => {
  const text = piece.repeat(1000);
  expect(codeTree(text, language)).toBeUndefined();
});

test('code has the parts of its language', () => {
  expect(codeTree('let a = 1', 'JS')).toMatchObject({
    children: [{ scope: 'keyword', children: ['let'] }, ' a ', '= ', { scope: 'number', children: ['1'] }],
  });
});

test('a language that nobody knows has no tree', () => {
  expect(codeTree('let a = 1', 'brainfog')).toBeUndefined();
});
