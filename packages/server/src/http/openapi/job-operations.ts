/** The routes of jobs, for the OpenAPI document. */
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import type { Operation } from './operation.ts';

export const JOB_OPERATIONS: Record<string, Operation> = {
  'GET /api/jobs': {
    tag: 'jobs',
    summary: 'List jobs, oldest first',
    query: { include_disabled: Type.Boolean({ default: false, description: 'Include paused jobs' }) },
    answer: schemas.JobListSchema,
    errors: [400, 401],
  },
  'POST /api/jobs': {
    tag: 'jobs',
    summary: 'Create a job',
    body: schemas.CreateJobRequestSchema,
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 409, 413],
  },
  'GET /api/jobs/{job_id}': {
    tag: 'jobs',
    summary: 'Get a job',
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404],
  },
  'PATCH /api/jobs/{job_id}': {
    tag: 'jobs',
    summary: 'Change a job',
    description: 'Absent fields stay unchanged. A new schedule sets a new time for the next run.',
    body: schemas.UpdateJobRequestSchema,
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404, 413],
  },
  'DELETE /api/jobs/{job_id}': {
    tag: 'jobs',
    summary: 'Delete a job',
    description: 'A run of it that is in progress continues.',
    answer: schemas.JobDeletedSchema,
    errors: [400, 401, 404],
  },
  'POST /api/jobs/{job_id}/pause': {
    tag: 'jobs',
    summary: 'Pause a job',
    body: schemas.PauseJobRequestSchema,
    optionalBody: true,
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404],
  },
  'POST /api/jobs/{job_id}/resume': {
    tag: 'jobs',
    summary: 'Resume a paused job',
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404],
  },
  'POST /api/jobs/{job_id}/run': {
    tag: 'jobs',
    summary: 'Run a job now, in addition to its schedule',
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404, 409, 429, 503],
  },
};
