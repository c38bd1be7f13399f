import { TalariaError } from '@talaria/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextRunOf } from './plan.ts';
import { parseSchedule } from './schedule.ts';

const NOW = Date.parse('2026-11-16T03:00:00.000Z');
const parse = (text: string, timezone = 'Europe/Berlin') => parseSchedule(text, timezone, NOW);
const once = (run_at: string, display: string) => ({ kind: 'once', run_at, display });
const interval = (minutes: number, display: string) => ({ kind: 'interval', minutes, display });
const cron = (expr: string) => ({ kind: 'cron', expr, display: expr });

describe('a schedule', () => {
  it.each([
    ['30m', once('2026-11-16T03:30:00.000Z', 'once in 30m')],
    ['2h', once('2026-11-16T05:00:00.000Z', 'once in 2h')],
    ['1d', once('2026-11-17T03:00:00.000Z', 'once in 1d')],
    ['90 minutes', once('2026-11-16T04:30:00.000Z', 'once in 90 minutes')],
    ['every 30m', interval(30, 'every 30m')],
    ['Every 2 hours', interval(120, 'every 2 hours')],
    ['every  1D', interval(1440, 'every 1D')],
    ['2031-02-03T14:00:00Z', once('2031-02-03T14:00:00.000Z', 'once at 2031-02-03T14:00:00Z')],
    ['2031-02-03T14:00:00+0530', once('2031-02-03T08:30:00.000Z', 'once at 2031-02-03T14:00:00+0530')],
    [
      '2031-02-03T14:00:00.250-08:00',
      once('2031-02-03T22:00:00.250Z', 'once at 2031-02-03T14:00:00.250-08:00'),
    ],
    ['2031-07-03T14:00', once('2031-07-03T12:00:00.000Z', 'once at 2031-07-03T14:00')],
    ['2031-02-03 14:00:30', once('2031-02-03T13:00:30.000Z', 'once at 2031-02-03 14:00:30')],
    ['2031-02-03', once('2031-02-02T23:00:00.000Z', 'once at 2031-02-03')],
    ['0 9 * * 1-5', cron('0 9 * * 1-5')],
    ['*/15   8-18 1,15 jan-jun MON', cron('*/15 8-18 1,15 jan-jun MON')],
  ])('%s', (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  it.each([
    ['tomorrow', 'it is none of these'],
    ['every', 'it is none of these'],
    ['every day', 'it is none of these'],
    ['every * * * *', 'every'],
    ['30', 'it is none of these'],
    ['30s', 'it is none of these'],
    ['-5m', 'it is none of these'],
    ['1.5h', 'it is none of these'],
    ['@daily', 'it is none of these'],
    ['0m', 'it must be from 1 minute'],
    ['every 0h', 'it must be from 1 minute'],
    ['4000d', 'it must be from 1 minute'],
    ['999999999d', 'it must be from 1 minute'],
    ['* * * *', 'it is none of these'],
    ['0 0 9 * * 1-5', 'it is none of these'],
    ['60 * * * *', 'Invalid value for minute'],
    ['5/15 * * * *', 'stepping'],
    ['* * * * someday', 'illegal characters'],
    ['0 0 30 2 *', 'it never comes'],
    ['2026-11-16T02:59:59Z', 'it is in the past'],
    ['2026-11-16T03:00:00Z', 'it is in the past'],
    ['2020-01-01', 'it is in the past'],
    ['0000-01-01', 'there is no such time'],
    ['2031-02-30T14:00:00', 'there is no such time'],
    ['2031-02-30T14:00:00Z', 'there is no such time'],
    ['2031-02-03T24:00:00Z', 'there is no such time'],
    ['2031-02-03T14:00:00+99:99', 'there is no such time'],
    ['2031-02-03T14', 'there is no such time'],
    ['2031-02-03T14:00 Europe/Berlin', 'there is no such time'],
  ])('%s is refused', (text, why) => {
    const refusal = refusalOf(text)!;
    expect(refusal).toMatchObject({ code: 'invalid_schedule', param: 'schedule' });
    expect(refusal.message).toContain(why);
  });

  it('that is refused lists the accepted forms, with a valid example of each', () => {
    const { message } = refusalOf('whenever')!;
    expect(message).toMatch(/^Invalid schedule 'whenever': .* Accepted: /);
    const examples = [...message.slice(message.indexOf('Accepted')).matchAll(/'([^']+)'/g)].map(
      ([, text]) => text!,
    );
    expect(examples.map((text) => parse(text).kind)).toEqual([
      'once',
      'once',
      'once',
      'once',
      'interval',
      'cron',
    ]);
  });

  it('of any length is refused with a message of bounded length', () => {
    expect(refusalOf('x'.repeat(10_000))!.message.length).toBeLessThan(500);
    expect(refusalOf(`${'x '.repeat(4)}${'y'.repeat(150)}`)!.message.length).toBeLessThan(500);
  });

  it('of any text is refused as such, or has a future run', () => {
    const word = fc.oneof(
      fc.constantFrom(
        'every',
        '*',
        '*/5',
        '1-5',
        '0',
        '59',
        'L',
        '5L',
        '1#2',
        'mon',
        'T',
        ':',
        '2031-02-03',
        '30m',
        '?',
        '+',
      ),
      fc.string({ maxLength: 6 }),
    );
    const text = fc.oneof(
      fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' ')),
      fc.string({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(text, (given) => {
        try {
          expect(nextRunOf(parse(given), 'Europe/Berlin', NOW)).toBeGreaterThan(NOW);
        } catch (error) {
          expect(error).toBeInstanceOf(TalariaError);
        }
      }),
    );
  });
});

describe("a time without an offset is in the job's zone", () => {
  it.each([
    // Two o'clock became three.
    ['2031-03-30T02:30', 'Europe/Berlin', '2031-03-30T01:00:00.000Z'],
    // Three o'clock became two: the first of the two half past twos.
    ['2031-10-26T02:30', 'Europe/Berlin', '2031-10-26T00:30:00.000Z'],
    ['2031-03-09T02:30', 'America/New_York', '2031-03-09T07:00:00.000Z'],
    ['2031-11-02T01:30', 'America/New_York', '2031-11-02T05:30:00.000Z'],
    // Half an hour only.
    ['2031-10-05T02:15', 'Australia/Lord_Howe', '2031-10-04T15:30:00.000Z'],
    ['2031-04-06T01:45', 'Australia/Lord_Howe', '2031-04-05T14:45:00.000Z'],
    ['2031-07-01T00:00', 'Pacific/Kiritimati', '2031-06-30T10:00:00.000Z'],
    ['2031-07-01T00:00', 'UTC', '2031-07-01T00:00:00.000Z'],
  ])('%s in %s', (text, timezone, expected) => {
    expect(parse(text, timezone)).toMatchObject({ kind: 'once', run_at: expected });
  });
});

function refusalOf(text: string): TalariaError | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    return error as TalariaError;
  }
}
