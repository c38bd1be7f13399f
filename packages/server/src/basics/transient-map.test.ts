import { expect, test } from 'vitest';
import { TransientMap } from './transient-map.ts';

test('it has what was set last and not deleted since', () => {
  const map = new TransientMap<number>();
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  expect([map.size, map.get('a'), map.get('b'), map.get('c')]).toEqual([2, 3, 2, undefined]);
  expect(map.values()).toEqual([3, 2]);
  expect([map.delete('a'), map.delete('a'), map.size, map.get('a')]).toEqual([true, false, 1, undefined]);
});

test('names that every object has are keys like any other', () => {
  const map = new TransientMap<string>();
  expect([map.get('constructor'), map.delete('toString'), map.size]).toEqual([undefined, false, 0]);
  map.set('__proto__', 'value');
  expect([map.get('__proto__'), map.size, map.values()]).toEqual(['value', 1, ['value']]);
});
