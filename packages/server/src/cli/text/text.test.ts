import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytes } from './bytes.ts';
import { nextCommand } from './next-command.ts';
import { table } from './table.ts';
import { age, duration, elapsed, localTime } from './time.ts';
import { fit, widthOf, wrapHard } from './width.ts';

describe('widths', () => {
  it.each([
    ['abc', 3],
    ['世界', 4],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['…', 1],
    ['한글', 4],
    ['', 0],
  ])('%s takes %i columns', (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });

  it('fit never returns more than fits, and all of it if it fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 30 }), (text, columns) => {
        const shown = fit(text, columns);
        expect(widthOf(shown)).toBeLessThanOrEqual(columns);
        if (widthOf(text) <= columns) expect(shown).toBe(text);
      }),
    );
  });

  it('wrapHard loses nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), fc.integer({ min: 1, max: 30 }), (text, columns) => {
        const rows = wrapHard(text, columns);
        expect(rows.join('')).toBe(text);
        for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe('times', () => {
  it.each([
    [0, '0s'],
    [59.9, '59s'],
    [60, '1m'],
    [3599, '59m'],
    [3600, '1h'],
    [2 * 86_400 - 1, '47h'],
    [2 * 86_400, '2d'],
    [-5, '0s'],
  ])('%d s ago is %s', (seconds, text) => {
    expect(age(1_000_000 - seconds, 1_000_000_000)).toBe(text);
  });

  it.each([
    [0.04, '0.0s'],
    [0.25, '0.3s'],
    [9.94, '9.9s'],
    [9.96, '10s'],
    [59.6, '1m 00s'],
    [184, '3m 04s'],
    [7500, '2h 05m'],
  ])('%d s is %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it('elapsed times have whole seconds', () => {
    expect([0.9, 59.9, 60, -1].map(elapsed)).toEqual(['0s', '59s', '1m 00s', '0s']);
  });

  it("a point in time is in this machine's time zone", () => {
    expect(localTime(new Date(2026, 2, 1, 14, 5, 9))).toBe('2026-03-01 14:05:09');
  });
});

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [9_949, '9.9 kB'],
  [9_960, '10 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [1_234_567_890, '1.2 GB'],
])('%i bytes are %s', (count, text) => {
  expect(bytes(count)).toBe(text);
});

describe('a table', () => {
  const rows = [
    [{ text: 'a' }, { text: '世界' }, { text: 'the last one is cut' }],
    [{ text: 'longer', paint: (text: string) => `<${text}>` }, { text: 'b' }, { text: '' }],
  ];

  it('aligns by visible width, not by what colours add', () => {
    expect(table(['X', 'Y', 'Z'], rows, Number.POSITIVE_INFINITY)).toBe(
      ['X       Y     Z', 'a       世界  the last one is cut', '<longer>  b'].join('\n'),
    );
  });

  it('is cut at its last column', () => {
    expect(table(['X', 'Y', 'Z'], rows, 26)).toContain('世界  the last on…\n');
  });
});

it.each([
  [undefined, 'talaria watch run_1'],
  ['http://far:8642', 'talaria watch run_1 --server http://far:8642'],
  ['http://far/a b', "talaria watch run_1 --server 'http://far/a b'"],
  ['http://me:secret@far:8642/x', 'talaria watch run_1 --server http://far:8642/x'],
  ['https:/me:secret@far/x', 'talaria watch run_1 --server https://far/x'],
])('the next command after one with --server %s is: %s', (server, line) => {
  expect(nextCommand('watch run_1', server)).toBe(line);
});
