import { describe, expect, it } from 'vitest';
import { TalariaError } from './errors.ts';
import { isTimeZone, parseCreateJob, parseJobId, parsePauseReason, parseUpdateJob } from './job-requests.ts';

const job = { name: 'report', schedule: '30m' };

function refusal(read: () => unknown): TalariaError {
  try {
    read();
  } catch (error) {
    if (error instanceof TalariaError) return error;
  }
  throw new Error('It was expected to be refused');
}

describe('a new job', () => {
  it('needs a name and a schedule', () => {
    expect(parseCreateJob(job)).toEqual({
      name: 'report',
      schedule: '30m',
      prompt: '',
      skills: [],
      deliver: 'local',
      repeat: null,
      timezone: undefined,
      retentionSeconds: null,
    });
  });

  it('may have more fields, and ignores unknown ones', () => {
    const fields = {
      prompt: 'Do it.',
      skills: ['a'],
      deliver: 'origin',
      repeat: 3,
      timezone: 'Europe/Berlin',
    };
    const retention = { retention_seconds: 86_400 };
    expect(parseCreateJob({ ...job, ...fields, ...retention, colour: 'red' })).toEqual({
      ...job,
      ...fields,
      retentionSeconds: 86_400,
    });
  });

  it('trims its name and its schedule', () => {
    expect(parseCreateJob({ name: ' report\n', schedule: ' 30m ' })).toMatchObject(job);
  });

  it('takes null as absent', () => {
    const nothing = { prompt: null, skills: null, deliver: null, repeat: null, timezone: null };
    expect(parseCreateJob({ ...job, ...nothing })).toEqual(parseCreateJob(job));
  });

  it.each<[unknown, string, string?]>([
    [[], 'body_not_object'],
    [{}, 'missing_job_name', 'Name is required'],
    [{ name: '  ', schedule: '' }, 'missing_job_name', 'Name is required'],
    [{ name: null, schedule: '30m' }, 'missing_job_name'],
    [{ name: 5, schedule: '30m' }, 'invalid_request', "'name' must be a string"],
    [{ name: 'x'.repeat(201) }, 'invalid_request', 'at most 200'],
    [{ name: 'a\u001bb', schedule: '30m' }, 'invalid_request', 'control characters'],
    [{ name: 'a' }, 'missing_schedule', 'Schedule is required'],
    [{ name: 'a', schedule: ' ', prompt: 5 }, 'missing_schedule', 'Schedule is required'],
    [{ name: 'a', schedule: { kind: 'cron' } }, 'invalid_request', "'schedule' must be a string"],
    [{ name: 'a', schedule: 'x'.repeat(201) }, 'invalid_request', 'at most 200'],
    [{ ...job, prompt: 5 }, 'invalid_request', "'prompt' must be a string"],
    [{ ...job, prompt: 'x'.repeat(50_001) }, 'invalid_request', 'at most 50000'],
    [{ ...job, prompt: 'a\0b' }, 'invalid_request', "'prompt' must not contain the character U+0000"],
    [{ ...job, skills: 'a' }, 'invalid_request', "'skills'"],
    [{ ...job, skills: [5] }, 'invalid_request', "'skills'"],
    [{ ...job, skills: Array(51).fill('a') }, 'invalid_request', "'skills'"],
    [{ ...job, deliver: 5 }, 'invalid_request', "'deliver' must be a string"],
    [{ ...job, repeat: 0 }, 'invalid_request', 'positive whole number'],
    [{ ...job, repeat: 1.5 }, 'invalid_request', 'positive whole number'],
    [{ ...job, repeat: '3' }, 'invalid_request', 'positive whole number'],
    [{ ...job, repeat: {} }, 'invalid_request', 'positive whole number'],
    [{ ...job, repeat: 2e9 }, 'invalid_request', 'positive whole number'],
    [{ ...job, timezone: 'Mars/Olympus' }, 'invalid_request', "'timezone'"],
    [{ ...job, timezone: 2 }, 'invalid_request', "'timezone'"],
  ])('%j is refused', (body, code, message = '') => {
    const error = refusal(() => parseCreateJob(body));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });
});

describe('a change of a job', () => {
  it('has the given fields and nothing else', () => {
    expect(parseUpdateJob({})).toEqual({});
    expect(parseUpdateJob({ name: 'b', enabled: false, id: 'x', owner: 'eve' })).toEqual({
      name: 'b',
      enabled: false,
    });
    expect(parseUpdateJob({ name: null, schedule: null, prompt: null, enabled: null })).toEqual({});
    expect(parseUpdateJob({ prompt: '', skills: [] })).toEqual({ prompt: '', skills: [] });
  });

  it('removes the limit of runs with null, and takes the limit as a job shows it', () => {
    expect(parseUpdateJob({ repeat: null })).toEqual({ repeat: null });
    expect(parseUpdateJob({ repeat: 4 })).toEqual({ repeat: 4 });
    expect(parseUpdateJob({ repeat: { times: 4, completed: 1 } })).toEqual({ repeat: 4 });
    expect(parseUpdateJob({ repeat: { times: null, completed: 1 } })).toEqual({ repeat: null });
  });

  it('sets the retention of its runs, or takes it back with null', () => {
    expect(parseUpdateJob({ retention_seconds: 60 })).toEqual({ retentionSeconds: 60 });
    expect(parseUpdateJob({ retention_seconds: null })).toEqual({ retentionSeconds: null });
    for (const retention_seconds of [0, -1, 1.5, '60', true, 315_360_001]) {
      const { code, message } = refusal(() => parseUpdateJob({ retention_seconds }));
      expect(code).toBe('invalid_request');
      expect(message).toContain("'retention_seconds' must be a whole number from 1 to 315360000");
    }
  });

  it.each([
    [{ name: ' ' }, 'missing_job_name'],
    [{ schedule: '' }, 'missing_schedule'],
    [{ enabled: 'yes' }, 'invalid_request'],
    [{ repeat: -1 }, 'invalid_request'],
  ])('%j is refused', (body, code) => {
    expect(refusal(() => parseUpdateJob(body)).code).toBe(code);
  });
});

it('a job id is twelve hex digits', () => {
  expect(parseJobId('0123456789ab')).toBe('0123456789ab');
  for (const id of ['', '0123456789a', '0123456789abc', '0123456789AB', '0123456789ag', '../../passwd']) {
    expect(refusal(() => parseJobId(id)).message).toBe('Invalid job ID format');
  }
});

it('a pause may have a reason', () => {
  expect(parsePauseReason({})).toBeUndefined();
  expect(parsePauseReason({ reason: '' })).toBeUndefined();
  expect(parsePauseReason({ reason: 'on holiday' })).toBe('on holiday');
  expect(refusal(() => parsePauseReason({ reason: 'x'.repeat(501) })).message).toContain('at most 500');
});

it('a time zone is a name from the time zone database, not an offset', () => {
  for (const name of [
    'UTC',
    'Europe/Berlin',
    'America/Argentina/Buenos_Aires',
    'Etc/GMT+3',
    'Australia/Lord_Howe',
  ]) {
    expect(isTimeZone(name), name).toBe(true);
  }
  for (const name of ['', '+02:00', 'Nowhere/Here', 'Europe/Berlin\n', '../etc/passwd', 'x'.repeat(100)]) {
    expect(isTimeZone(name), name).toBe(false);
  }
});
