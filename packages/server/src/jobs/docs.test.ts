/** Tries what docs/jobs.md says about schedules. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nextMatch } from './plan.ts';
import { parseSchedule } from './schedule.ts';

const document = readFileSync(new URL('../../../../docs/jobs.md', import.meta.url), 'utf8');
const HALF_A_DAY_MS = 12 * 3600 * 1000;

describe('every schedule of the table is of its kind', () => {
  const rows = [...document.matchAll(/^\| `([^`]+)` \| (once|interval|cron) \|/gm)];

  it('and there are some of each', () => {
    expect(new Set(rows.map(([, , kind]) => kind)).size).toBe(3);
  });

  it.each(rows.map(([, text, kind]) => ({ text: text!, kind })))('$text', ({ text, kind }) => {
    expect(parseSchedule(text, 'Europe/Berlin', Date.parse('2026-11-16T03:00:00Z')).kind).toBe(kind);
  });
});

describe('every change of the clocks fires as the table has it', () => {
  const rows = [
    ...document.matchAll(/^\| (\w+\/\w+) \| (\d{4}-\d\d-\d\d): [^|]+ \| `([^`]+)` \| ([^|]+) \|$/gm),
  ];

  it('and there are changes', () => {
    expect(rows.length).toBeGreaterThan(3);
  });

  it.each(
    rows.map(([, zone, date, expr, fires]) => ({ zone: zone!, date: date!, expr: expr!, fires: fires! })),
  )('$zone $date $expr', ({ zone, date, expr, fires }) => {
    const times: string[] = [];
    const noon = Date.parse(`${date}T12:00:00Z`);
    let next = nextMatch(expr, zone, noon - HALF_A_DAY_MS - 1);
    while (next !== null && next < noon) {
      times.push(new Date(next).toISOString().slice(11, 16));
      next = nextMatch(expr, zone, next);
    }
    expect(times).toEqual(fires.match(/\d\d:\d\d/g) ?? []);
  });
});
