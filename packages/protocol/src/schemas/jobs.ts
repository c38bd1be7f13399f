/** `/api/jobs`: runs on a schedule. Times are ISO 8601. */
import Type from 'typebox';
import { MayBeNull, NAME, NOT_BLANK } from './request-fields.ts';

const Time = Type.Union([Type.String(), Type.Null()]);
const display = Type.String({ description: 'The schedule as readable text' });

export const JobScheduleSchema = Type.Union([
  Type.Object({ kind: Type.Literal('once'), run_at: Type.String(), display }),
  Type.Object({ kind: Type.Literal('interval'), minutes: Type.Integer({ minimum: 1 }), display }),
  Type.Object({ kind: Type.Literal('cron'), expr: Type.String(), display }),
]);

export const JobSchema = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  name: Type.String(),
  prompt: Type.String(),
  skills: Type.Array(Type.String()),
  schedule: JobScheduleSchema,
  schedule_display: Type.String(),
  timezone: Type.Optional(Type.String({ description: 'The time zone of cron times' })),
  repeat: Type.Object({
    times: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
    completed: Type.Integer({ minimum: 0 }),
  }),
  enabled: Type.Boolean(),
  state: Type.Union([Type.Literal('scheduled'), Type.Literal('paused')]),
  paused_at: Time,
  paused_reason: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String(),
  next_run_at: Time,
  last_run_at: Time,
  last_run_id: Type.Optional(
    Type.Union([Type.String(), Type.Null()], { description: 'The last run, which may still be running' }),
  ),
  last_status: Type.Union([Type.Literal('ok'), Type.Literal('error'), Type.Null()]),
  last_error: Type.Union([Type.String(), Type.Null()]),
  last_skipped_at: Type.Optional(Time),
  deliver: Type.String(),
  retention_seconds: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'How long its runs are kept after their ends; null: as long as the server keeps others',
    }),
  ),
});

export const JobAnswerSchema = Type.Object({ job: JobSchema });
export const JobListSchema = Type.Object({ jobs: Type.Array(JobSchema) });
export const JobDeletedSchema = Type.Object({ ok: Type.Literal(true) });

const Name = Type.String({ maxLength: 200, pattern: NAME });
const Schedule = Type.String({
  maxLength: 200,
  pattern: NOT_BLANK,
  description:
    'A duration (`30m`), a time (ISO 8601), an interval (`every 30m`), or a cron expression of five fields',
});
const FURTHER = {
  prompt: MayBeNull(Type.String()),
  skills: MayBeNull(Type.Array(Type.String())),
  repeat: MayBeNull(Type.Integer({ minimum: 1 }), {
    description: 'How many times it runs; null means forever',
  }),
  deliver: MayBeNull(Type.String({ maxLength: 200 })),
  timezone: MayBeNull(Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9_+:/-]+$' }), {
    description: 'The name of the time zone of cron times and of times without an offset',
  }),
  retention_seconds: MayBeNull(Type.Integer({ minimum: 1, maximum: 315_360_000 }), {
    description:
      'How long its runs are kept after their ends, for runs that start from now on; null: as long as the server keeps others',
  }),
};

export const CreateJobRequestSchema = Type.Object({ name: Name, schedule: Schedule, ...FURTHER });

export const UpdateJobRequestSchema = Type.Object({
  name: MayBeNull(Name),
  schedule: MayBeNull(Schedule),
  ...FURTHER,
  enabled: MayBeNull(Type.Boolean({ description: 'false pauses the job, true resumes it' })),
});

export const PauseJobRequestSchema = Type.Object({ reason: MayBeNull(Type.String()) });
