import { describe, expect, it } from 'vitest';
import { matchesTag, mayServeRange, parseRange } from './byte-range.ts';

describe('a range', () => {
  it.each([
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=2-5', { start: 2, end: 6 }],
    ['bytes=2-', { start: 2, end: 10 }],
    ['bytes=2-999', { start: 2, end: 10 }],
    ['bytes=9-9', { start: 9, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-999', { start: 0, end: 10 }],
    ['BYTES= 2 - 5 ', { start: 2, end: 6 }],
    ['bytes=0-99999999999999999999999', { start: 0, end: 10 }],
    [undefined, 'whole'],
    ['lines=1-2', 'whole'],
    ['nonsense', 'whole'],
    ['bytes=0-1,3-4', 'whole'],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=10-20', 'unsatisfiable'],
    ['bytes=5-2', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=', 'unsatisfiable'],
    ['bytes=-', 'unsatisfiable'],
    ['bytes=a-b', 'unsatisfiable'],
    ['bytes=1.5-2', 'unsatisfiable'],
    ['bytes=99999999999999999999999-', 'unsatisfiable'],
  ] as const)('%s of ten bytes', (header, expected) => {
    expect(parseRange(header, 10)).toEqual(expected);
  });

  it.each(['bytes=0-', 'bytes=0-0', 'bytes=-1'])('%s of an empty file is not satisfiable', (header) => {
    expect(parseRange(header, 0)).toBe('unsatisfiable');
  });
});

describe('a tag', () => {
  it.each([
    [undefined, false],
    ['*', true],
    ['"a"', true],
    ['W/"a"', true],
    ['"b", "a"', true],
    ['"b"', false],
    ['a', false],
  ])('If-None-Match: %s', (header, expected) => {
    expect(matchesTag(header, '"a"')).toBe(expected);
  });

  it.each([
    [undefined, true],
    ['"a"', true],
    ['"b"', false],
    ['W/"a"', false],
    ['Wed, 21 Oct 2015 07:28:00 GMT', false],
  ])('If-Range: %s', (header, expected) => {
    expect(mayServeRange(header, '"a"')).toBe(expected);
  });
});
