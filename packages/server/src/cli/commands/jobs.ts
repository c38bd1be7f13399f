/** Commands about runs on a schedule. */
import { defineCommand } from '../command-spec.ts';
import { json, server } from './shared.ts';

const job = { name: 'job', about: 'id of a job; its beginning is enough', completes: 'job' } as const;

export const jobCommands = {
  jobsList: defineCommand({
    name: 'jobs list',
    aliases: ['ls'],
    about: 'list scheduled runs',
    positionals: [],
    options: {
      all: { type: 'flag', short: 'a', about: 'paused ones, too' },
      quiet: { type: 'flag', short: 'q', about: 'print ids only' },
      json,
      server,
    },
    examples: [{ line: 'talaria jobs list -a', about: 'all of them' }],
  }),
  jobsShow: defineCommand({
    name: 'jobs show',
    about: 'show a job',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs show 4f2a', about: 'by the beginning of its id' }],
  }),
  jobsCreate: defineCommand({
    name: 'jobs create',
    about: 'schedule runs',
    positionals: [
      { name: 'name', about: 'what to call it' },
      { name: 'prompt', about: 'what to do; - reads it from stdin' },
    ],
    options: {
      schedule: {
        type: 'text',
        value: 'when',
        about: '"30m" or a time (once), "every 30m", or the five fields of cron',
      },
      repeat: {
        type: 'integer',
        value: 'times',
        min: 1,
        max: 1_000_000_000,
        about: 'how often; default for ever',
      },
      timezone: {
        type: 'text',
        value: 'zone',
        about: "such as Europe/Berlin; default the server's",
      },
      retention: {
        type: 'integer',
        value: 'seconds',
        min: 1,
        max: 315_360_000,
        about: "how long its runs are kept after their ends; default as the server's others",
      },
      json,
      server,
    },
    examples: [
      {
        line: "talaria jobs create logs 'Look through the logs' --schedule '0 6 * * *'",
        about: 'every morning at six',
      },
    ],
  }),
  jobsPause: defineCommand({
    name: 'jobs pause',
    about: 'stop starting runs of a job, until it is resumed',
    positionals: [job],
    options: { reason: { type: 'text', value: 'text', about: 'shown with the job' }, json, server },
    examples: [{ line: 'talaria jobs pause 4f2a', about: 'it keeps its schedule' }],
  }),
  jobsResume: defineCommand({
    name: 'jobs resume',
    about: 'resume a paused job',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs resume 4f2a', about: 'from now on' }],
  }),
  jobsRun: defineCommand({
    name: 'jobs run',
    about: 'run a job now, beside its schedule',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs run 4f2a', about: 'once, at once' }],
  }),
  jobsDelete: defineCommand({
    name: 'jobs delete',
    aliases: ['rm'],
    about: 'delete a job',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs delete 4f2a', about: 'its runs stay' }],
  }),
};
