import { describe, expect, it } from 'vitest';
import type { StoredJob } from '../journal/jobs.ts';
import { newJob } from '../journal/testing/records.ts';
import { changeJob, pauseJob } from './change-job.ts';

const NOW = Date.parse('2026-11-16T03:00:00Z');
const MINUTE_MS = 60_000;
const at = (time: string): number => Date.parse(time);

function stored(fields: Partial<StoredJob> = {}): StoredJob {
  return {
    ...newJob({ nextRunAt: NOW + 10 * MINUTE_MS }),
    version: 1,
    createdAt: NOW - MINUTE_MS,
    completed: 0,
    pausedAt: null,
    pausedReason: null,
    lastRunId: null,
    lastRunAt: null,
    lastStatus: null,
    lastError: null,
    lastSkippedAt: null,
    ...fields,
  };
}

const cron = stored({
  schedule: { kind: 'cron', expr: '0 9 * * *', display: '0 9 * * *' },
  nextRunAt: at('2026-11-16T08:00:00Z'),
});
const once = stored({
  schedule: { kind: 'once', run_at: '2026-11-16T04:00:00.000Z', display: 'once in 1h' },
  times: 1,
  nextRunAt: at('2026-11-16T04:00:00Z'),
});
const paused = { pausedAt: NOW - MINUTE_MS, pausedReason: 'holidays', nextRunAt: null };
const running = { lastRunId: 'run_1', lastStatus: null };

describe('a change', () => {
  it('without fields changes nothing', () => {
    expect(changeJob(stored(), {}, NOW)).toEqual({});
    expect(changeJob(stored(), { enabled: true, timezone: 'Europe/Berlin' }, NOW)).toEqual({});
  });

  it('of other fields leaves the time of the next run', () => {
    const said = { name: 'b', prompt: 'Other.', skills: [], deliver: 'origin' };
    expect(changeJob(stored(), said, NOW)).toEqual(said);
  });

  it('of the schedule sets the time of the next run', () => {
    expect(changeJob(cron, { schedule: 'every 2h' }, NOW)).toEqual({
      schedule: { kind: 'interval', minutes: 120, display: 'every 2h' },
      nextRunAt: NOW + 120 * MINUTE_MS,
    });
  });

  it('of the schedule of a paused job leaves it paused', () => {
    const change = changeJob(stored(paused), { schedule: '0 9 * * *' }, NOW);
    expect(change).toEqual({ schedule: { kind: 'cron', expr: '0 9 * * *', display: '0 9 * * *' } });
  });

  it('of the zone moves a cron, and nothing else', () => {
    const timezone = 'America/New_York';
    expect(changeJob(cron, { timezone }, NOW)).toEqual({ timezone, nextRunAt: at('2026-11-16T14:00:00Z') });
    expect(changeJob(stored(), { timezone }, NOW)).toEqual({ timezone });
    expect(changeJob(once, { timezone }, NOW)).toEqual({ timezone });
  });

  it('of the schedule and the zone reads the one in the other', () => {
    expect(changeJob(cron, { schedule: '2031-01-01T09:00', timezone: 'UTC' }, NOW)).toMatchObject({
      nextRunAt: at('2031-01-01T09:00:00Z'),
    });
  });

  it('to a bad schedule is refused', () => {
    expect(() => changeJob(cron, { schedule: 'soon' }, NOW)).toThrow("Invalid schedule 'soon'");
  });
});

describe('how often it runs', () => {
  it('can be changed and removed', () => {
    expect(changeJob(stored(), { repeat: 3 }, NOW)).toEqual({ times: 3 });
    expect(changeJob(stored({ times: 3 }), { repeat: null }, NOW)).toEqual({ times: null });
  });

  it('must be more than the runs it has had', () => {
    expect(() => changeJob(stored({ completed: 3 }), { repeat: 3 }, NOW)).toThrow('more than 3');
    expect(changeJob(stored({ completed: 3 }), { repeat: 4 }, NOW)).toEqual({ times: 4 });
  });

  it('is one for a schedule of one time, whatever was asked for', () => {
    expect(changeJob(once, { repeat: 5 }, NOW)).toEqual({});
    expect(changeJob(stored({ times: 7, completed: 2 }), { schedule: '1h', repeat: 5 }, NOW)).toMatchObject({
      times: 3,
    });
  });

  it('allows one more run while it runs: the present run is not the one that was asked for now', () => {
    expect(changeJob(stored({ ...once, ...running }), { schedule: '1h' }, NOW)).toMatchObject({ times: 2 });
  });

  it('has no limit any more when one time becomes many', () => {
    expect(changeJob(once, { schedule: 'every 1h' }, NOW)).toMatchObject({ times: null });
    expect(changeJob(once, { schedule: 'every 1h', repeat: 2 }, NOW)).toMatchObject({ times: 2 });
  });
});

describe('a pause', () => {
  it('removes the next time', () => {
    expect(pauseJob(stored(), 'holidays', NOW)).toEqual({
      pausedAt: NOW,
      pausedReason: 'holidays',
      nextRunAt: null,
    });
    expect(changeJob(stored(), { enabled: false }, NOW)).toEqual({
      pausedAt: NOW,
      pausedReason: null,
      nextRunAt: null,
    });
  });

  it('of a paused job changes its reason, if one is given', () => {
    expect(pauseJob(stored(paused), undefined, NOW)).toEqual({});
    expect(pauseJob(stored(paused), 'ill', NOW)).toEqual({ pausedReason: 'ill' });
    expect(changeJob(stored(paused), { enabled: false }, NOW)).toEqual({});
  });

  it('ends with a time in the future: missed times are not made up for', () => {
    const resumed = { pausedAt: null, pausedReason: null };
    expect(changeJob(stored(paused), { enabled: true }, NOW)).toEqual({
      ...resumed,
      nextRunAt: NOW + 60 * MINUTE_MS,
    });
    expect(changeJob({ ...cron, ...paused }, { enabled: true }, NOW)).toEqual({
      ...resumed,
      nextRunAt: at('2026-11-16T08:00:00Z'),
    });
  });

  it('of a job that runs once does not lose its run', () => {
    const late = { ...once, ...paused };
    expect(changeJob(late, { enabled: true }, at('2026-11-17T00:00:00Z'))).toMatchObject({
      nextRunAt: at('2026-11-16T04:00:00Z'),
    });
  });
});
