import type { JobSchedule } from '@talaria/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { correctedPlan, nextMatch, nextRunOf, runAfter } from './plan.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const at = (time: string): number => Date.parse(time);
const iso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

const every = (minutes: number): JobSchedule => ({ kind: 'interval', minutes, display: '' });
const once = (run_at: string): JobSchedule => ({ kind: 'once', run_at, display: '' });
const cron = (expr: string): JobSchedule => ({ kind: 'cron', expr, display: expr });

/** All times of a cron schedule between two instants. */
function times(expr: string, timezone: string, from: string, to: string): string[] {
  const found: string[] = [];
  for (let next = nextMatch(expr, timezone, at(from)); next !== null && next < at(to); ) {
    found.push(iso(next)!);
    next = nextMatch(expr, timezone, next);
  }
  return found;
}

describe('where the clock is set forward, a time that does not exist', () => {
  it.each([
    // 29 March 2026, 02:00 becomes 03:00.
    ['Europe/Berlin', '30 2 * * *', '2026-03-29T00:00:00Z', ['2026-03-29T01:00:00.000Z']],
    // 8 March 2026, 02:00 becomes 03:00.
    ['America/New_York', '30 2 * * *', '2026-03-08T06:00:00Z', ['2026-03-08T07:00:00.000Z']],
    // 4 October 2026, 02:00 becomes 02:30.
    ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03T15:00:00Z', ['2026-10-03T15:30:00.000Z']],
  ])(
    'in %s fires when the clock has jumped, for the single time a day of %s',
    (timezone, expr, from, expected) => {
      expect(times(expr, timezone, from, iso(at(from) + 12 * 60 * MINUTE_MS)!)).toEqual(expected);
    },
  );

  it.each([
    ['Europe/Berlin', '*/30 2 * * *', '2026-03-29T00:00:00Z', []],
    [
      'America/New_York',
      '30 1,2,3 * * *',
      '2026-03-08T06:00:00Z',
      ['2026-03-08T06:30:00.000Z', '2026-03-08T07:30:00.000Z'],
    ],
    ['Australia/Lord_Howe', '15,45 2 * * *', '2026-10-03T15:00:00Z', ['2026-10-03T15:45:00.000Z']],
  ])('in %s is left out, for the several times a day of %s', (timezone, expr, from, expected) => {
    expect(times(expr, timezone, from, iso(at(from) + 12 * 60 * MINUTE_MS)!)).toEqual(expected);
  });
});

describe('where the clock is set back, a time that exists twice', () => {
  it.each([
    // 25 October 2026, 03:00 becomes 02:00.
    ['Europe/Berlin', '30 2 * * *', '2026-10-24T23:00:00Z', ['2026-10-25T00:30:00.000Z']],
    // 1 November 2026, 02:00 becomes 01:00.
    ['America/New_York', '30 1 * * *', '2026-11-01T04:00:00Z', ['2026-11-01T05:30:00.000Z']],
    // 5 April 2026, 02:00 becomes 01:30.
    ['Australia/Lord_Howe', '45 1 * * *', '2026-04-04T13:00:00Z', ['2026-04-04T14:45:00.000Z']],
  ])('in %s fires the first time, for the single time a day of %s', (timezone, expr, from, expected) => {
    expect(times(expr, timezone, from, iso(at(from) + 12 * 60 * MINUTE_MS)!)).toEqual(expected);
  });

  it.each([
    [
      'Europe/Berlin',
      '0,30 2 * * *',
      '2026-10-24T23:00:00Z',
      [
        '2026-10-25T00:00:00.000Z',
        '2026-10-25T00:30:00.000Z',
        '2026-10-25T01:00:00.000Z',
        '2026-10-25T01:30:00.000Z',
      ],
    ],
    [
      'America/New_York',
      '30 1-2 * * *',
      '2026-11-01T04:00:00Z',
      ['2026-11-01T05:30:00.000Z', '2026-11-01T06:30:00.000Z', '2026-11-01T07:30:00.000Z'],
    ],
    [
      'Australia/Lord_Howe',
      '*/15 1 * * *',
      '2026-04-04T14:20:00Z',
      [
        '2026-04-04T14:30:00.000Z',
        '2026-04-04T14:45:00.000Z',
        '2026-04-04T15:00:00.000Z',
        '2026-04-04T15:15:00.000Z',
      ],
    ],
  ])('in %s fires both times, for the several times a day of %s', (timezone, expr, from, expected) => {
    expect(times(expr, timezone, from, iso(at(from) + 6 * 60 * MINUTE_MS)!)).toEqual(expected);
  });

  it('keeps an hourly job hourly in every zone', () => {
    // The weeks in which the clocks change.
    for (const [timezone, from, to] of [
      ['Europe/Berlin', '2026-03-26', '2026-04-02'],
      ['Europe/Berlin', '2026-10-22', '2026-10-29'],
      ['America/New_York', '2026-03-05', '2026-03-12'],
      ['America/New_York', '2026-10-29', '2026-11-05'],
    ] as const) {
      const hours = times('0 * * * *', timezone, from, to);
      expect(hours).toHaveLength(7 * 24 - 1);
      const gaps = hours.slice(1).map((time, i) => at(time) - at(hours[i]!));
      expect(new Set(gaps)).toEqual(new Set([60 * MINUTE_MS]));
    }
  });

  it('leaves a daily job at one run a day, all year', () => {
    for (const [timezone, expr] of [
      ['Europe/Berlin', '30 2 * * *'],
      ['America/New_York', '30 1 * * *'],
      ['America/New_York', '30 2 * * *'],
      ['Australia/Lord_Howe', '15 2 * * *'],
      ['Australia/Lord_Howe', '45 1 * * *'],
    ] as const) {
      const days = times(expr, timezone, '2026-01-01T12:00:00Z', '2027-01-01T12:00:00Z').map((time) =>
        new Date(time).toLocaleDateString('en-CA', { timeZone: timezone }),
      );
      expect(days).toHaveLength(365);
      expect(new Set(days).size).toBe(365);
    }
  });
});

describe('the first run', () => {
  const now = at('2026-11-16T03:00:00Z');

  it('of an interval is one interval away', () => {
    expect(nextRunOf(every(30), 'UTC', now)).toBe(now + 30 * MINUTE_MS);
  });

  it('of a cron is its next time, not the present one', () => {
    expect(iso(nextRunOf(cron('0 3 * * *'), 'UTC', now))).toBe('2026-11-17T03:00:00.000Z');
    expect(iso(nextRunOf(cron('0 3 * * *'), 'UTC', now - 1))).toBe('2026-11-16T03:00:00.000Z');
  });

  it('of once is its time, also when that is past', () => {
    expect(iso(nextRunOf(once('2020-01-01T00:00:00.000Z'), 'UTC', now))).toBe('2020-01-01T00:00:00.000Z');
  });
});

describe('the run after one that is due', () => {
  const planned = at('2026-11-16T03:00:00Z');

  it.each([
    ['on time', 0, 30],
    ['a little late', 5, 30],
    ['later than the next', 31, 60],
    ['when the next is due as well', 30, 60],
    ['after a day in which nobody looked', 1440 + 10, 1470],
    ['with a clock that was set back meanwhile', -100, 30],
  ])('of an interval, looked at %s, keeps to its times', (_, lateMinutes, afterMinutes) => {
    const next = runAfter(every(30), 'UTC', planned, planned + lateMinutes * MINUTE_MS);
    expect(next).toBe(planned + afterMinutes * MINUTE_MS);
  });

  it('of a cron is its next time from now', () => {
    const week = planned + 7 * DAY_MS;
    expect(iso(runAfter(cron('0 3 * * *'), 'UTC', planned, planned))).toBe('2026-11-17T03:00:00.000Z');
    expect(iso(runAfter(cron('0 3 * * *'), 'UTC', planned, week))).toBe('2026-11-24T03:00:00.000Z');
    expect(iso(runAfter(cron('0 3 * * *'), 'UTC', planned, planned - DAY_MS))).toBe(
      '2026-11-17T03:00:00.000Z',
    );
  });

  it('of once is none', () => {
    expect(runAfter(once(iso(planned)!), 'UTC', planned, planned)).toBeNull();
  });

  it('is after now, on the grid of the interval, and the first such', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 0, max: 1e11 }),
        (minutes, first, late) => {
          const next = runAfter(every(minutes), 'UTC', first, first + late)!;
          const stepMs = minutes * MINUTE_MS;
          expect(next).toBeGreaterThan(first + late);
          expect((next - first) % stepMs).toBe(0);
          expect(next - stepMs).toBeLessThanOrEqual(first + late);
        },
      ),
    );
  });
});

describe('a plan', () => {
  const now = at('2026-11-16T03:00:00Z');
  const schedules = fc.oneof(
    fc.integer({ min: 1, max: 10_000 }).map(every),
    fc.constantFrom('0 9 * * *', '*/7 * * * *', '30 2 * * 0', '0 0 29 2 *', '15 1,2 * * *').map(cron),
  );
  const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe');

  it('made at any earlier time is left unchanged while it is in the future', () => {
    fc.assert(
      fc.property(
        schedules,
        zones,
        fc.integer({ min: 0, max: 3 * 365 * DAY_MS }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (schedule, timezone, offset, part) => {
          const madeAt = now + offset;
          const planned = nextRunOf(schedule, timezone, madeAt)!;
          const later = Math.floor(madeAt + (planned - madeAt) * part);
          expect(correctedPlan(schedule, timezone, planned, later)).toBe(planned);
        },
      ),
    );
  });

  it('that is due is left unchanged', () => {
    expect(correctedPlan(every(30), 'UTC', now, now)).toBe(now);
    expect(correctedPlan(cron('0 3 * * *'), 'UTC', now - DAY_MS, now)).toBe(now - DAY_MS);
  });

  it('made by a clock that was years ahead is corrected', () => {
    const ahead = at('2038-01-19T00:00:00Z');
    expect(correctedPlan(every(30), 'UTC', ahead, now)).toBe(now + 30 * MINUTE_MS);
    expect(iso(correctedPlan(cron('0 9 * * *'), 'UTC', ahead, now))).toBe('2026-11-16T09:00:00.000Z');
    expect(correctedPlan(once(iso(ahead)!), 'UTC', ahead, now)).toBe(ahead);
  });
});
