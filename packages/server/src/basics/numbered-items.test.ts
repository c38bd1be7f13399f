import { expect, test } from 'vitest';
import { NumberedItems } from './numbered-items.ts';

test('an item keeps its number until it is removed, and then another gets it', () => {
  const items = new NumberedItems<string>();
  const [a, b] = [items.add('a'), items.add('b')];
  expect(items.remove(a)).toBe('a');
  expect(items.remove(a)).toBeUndefined();
  expect(items.add('c')).toBe(a);
  expect([items.remove(b), [...items], items.size]).toEqual(['b', ['c'], 1]);
});

test('all are removed at once', () => {
  const items = new NumberedItems<string>();
  items.add('a');
  items.remove(items.add('b'));
  expect([items.removeAll(), items.size, [...items]]).toEqual([['a'], 0, []]);
  expect(items.remove(items.add('c'))).toBe('c');
});
