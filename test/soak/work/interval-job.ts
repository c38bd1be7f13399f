/** A job that fires every minute while everything else is killed. */
import type { Job } from '@talaria/protocol';
import { script } from '../../support/model-server.ts';
import type { IntervalEvidence } from '../evidence.ts';
import type { PersistentClient } from '../persistent-client.ts';
import { scriptIdOf } from './driven-run.ts';

/** Before the first kill: a create has no key, and must not be repeated. */
export async function startIntervalJob(client: PersistentClient): Promise<IntervalEvidence> {
  const prompt = script([{ text: 'Another minute.' }]);
  const body = { name: 'every minute', schedule: 'every 1m', prompt };
  const { status, body: answer } = await client.request<{ job: Job }>('/api/jobs', { body });
  if (status !== 200) throw new Error(`the job got ${status} ${JSON.stringify(answer)}`);
  const { id, next_run_at } = answer.job;
  return { id, script: scriptIdOf(prompt), first: Date.parse(next_run_at!) / 1_000, deleted: 0 };
}

export async function deleteIntervalJob(client: PersistentClient, job: IntervalEvidence): Promise<void> {
  job.deleted = Date.now() / 1_000;
  const { status } = await client.request(`/api/jobs/${job.id}`, { method: 'DELETE' });
  if (status !== 200) throw new Error(`the deletion of the job got ${status}`);
}
