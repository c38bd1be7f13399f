/** Scheduled jobs. */

import { integer, timeZone } from '../kinds/kinds.ts';
import { define } from './setting.ts';

export const jobsSettings = {
  timezone: define({
    env: 'TALARIA_TIMEZONE',
    key: 'timezone',
    kind: timeZone(),
    default: undefined,
    defaultText: "the machine's",
    group: 'Jobs',
    about: 'time zone of new jobs that name no zone (docs/jobs.md)',
  }),
  maxJobs: define({
    env: 'TALARIA_MAX_JOBS',
    key: 'max_jobs',
    kind: integer({ min: 0, max: 100_000 }),
    default: 100,
    group: 'Jobs',
    about: 'jobs that one key may have',
  }),
};
