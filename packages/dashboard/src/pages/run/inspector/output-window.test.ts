import { describe, expect, test } from 'vitest';
import { around, find, windowOf } from './output-window.ts';

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}\n`).join('');

describe('long output', () => {
  test('is shown whole up to a size', () => {
    expect(windowOf(lines(400))).toEqual({ head: lines(400), tail: '', lines: 400, left: 0 });
    expect(windowOf('')).toEqual({ head: '', tail: '', lines: 0, left: 0 });
  });

  test('is shown by its first and last lines beyond it', () => {
    const { head, tail, lines: all, left } = windowOf(lines(38_412));
    expect([all, left]).toEqual([38_412, 38_012]);
    expect(head).toBe(lines(200));
    expect(tail.startsWith('line 38212\n')).toBe(true);
    expect(tail.endsWith('line 38411\n')).toBe(true);
  });

  test('of one line is cut as well', () => {
    const { head, tail } = windowOf('x'.repeat(1_000_000));
    expect(head.length + tail.length).toBe(80_000);
  });

  test('can be searched, also where it is not shown', () => {
    const output = lines(38_412);
    const [at] = find(output, 'LINE 20000');
    expect(around(output, at!, 1)).toBe('line 19999\nline 20000\nline 20001');
    expect(find(output, '')).toEqual([]);
    expect(find('aaaa', 'aa')).toEqual([0, 2]);
    expect(find(output, 'line', 5)).toHaveLength(5);
    expect(around('only', 0)).toBe('only');
  });
});
