/** `/api/jobs`: runs on a schedule (PROTOCOL.md). */
import { parseCreateJob, parsePauseReason, parseUpdateJob } from '@talaria/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ScheduledJobs } from '../../jobs/scheduled-jobs.ts';
import { parseJsonBody, parseOptionalJsonBody } from '../requests/json-body.ts';
import { flag } from '../requests/query.ts';

type JobRoute = { Params: { job_id: string } };

export function installJobRoutes(app: FastifyInstance, jobs: ScheduledJobs): void {
  app.get('/api/jobs', async (request) => {
    const includeDisabled = flag(request.query, 'include_disabled');
    return { jobs: await jobs.list(request.owner, includeDisabled) };
  });
  app.post('/api/jobs', async (request) => ({
    job: await jobs.create(request.owner, parseCreateJob(parseJsonBody(request.body))),
  }));

  app.get<JobRoute>('/api/jobs/:job_id', async (request) => ({
    job: await jobs.get(request.owner, request.params.job_id),
  }));

  // An unknown job is reported before any error in the body, so the job is looked up before the body is read.
  const jobExists = async (request: FastifyRequest): Promise<void> => {
    await jobs.get(request.owner, (request.params as JobRoute['Params']).job_id);
  };
  app.patch<JobRoute>('/api/jobs/:job_id', { preParsing: jobExists }, async (request) => {
    const update = parseUpdateJob(parseJsonBody(request.body));
    return { job: await jobs.update(request.owner, request.params.job_id, update) };
  });
  app.delete<JobRoute>('/api/jobs/:job_id', { preParsing: jobExists }, async (request) => {
    await jobs.delete(request.owner, request.params.job_id);
    return { ok: true };
  });

  app.post<JobRoute>('/api/jobs/:job_id/pause', { preParsing: jobExists }, async (request) => {
    const reason = parsePauseReason(parseOptionalJsonBody(request.body));
    return { job: await jobs.pause(request.owner, request.params.job_id, reason) };
  });
  app.post<JobRoute>('/api/jobs/:job_id/resume', { preParsing: jobExists }, async (request) => ({
    job: await jobs.resume(request.owner, request.params.job_id),
  }));
  const starting = { preParsing: jobExists, config: { startsWork: true } };
  app.post<JobRoute>('/api/jobs/:job_id/run', starting, async (request) => ({
    job: await jobs.run(request.owner, request.params.job_id),
  }));
}
