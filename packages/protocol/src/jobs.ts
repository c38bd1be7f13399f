import type { Static } from 'typebox';
import type * as schemas from './schemas/jobs.ts';

export type JobSchedule = Static<typeof schemas.JobScheduleSchema>;
export type Job = Static<typeof schemas.JobSchema>;
export type JobAnswer = Static<typeof schemas.JobAnswerSchema>;
export type JobList = Static<typeof schemas.JobListSchema>;
export type JobDeleted = Static<typeof schemas.JobDeletedSchema>;
export type CreateJobRequest = Static<typeof schemas.CreateJobRequestSchema>;
export type UpdateJobRequest = Static<typeof schemas.UpdateJobRequestSchema>;
export type PauseJobRequest = Static<typeof schemas.PauseJobRequestSchema>;
