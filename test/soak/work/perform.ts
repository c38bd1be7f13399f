/** Does one item of the plan, as a client would, from its beginning to its end. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { FileDeleted, Job, Run, RunList, Slot, SlotResults, StoredFile } from '@talaria/protocol';
import { SeededRandom } from '../../support/seeded-random.ts';
import { type Evidence, markingCommand, type SlotEvidence, type UploadEvidence } from '../evidence.ts';
import { PersistentClient, type Servers } from '../persistent-client.ts';
import type { Plan, WorkItem } from '../plan.ts';
import { DrivenRun, type DrivenRunOptions, expectationsOf, promptOf, scriptIdOf } from './driven-run.ts';

export interface WorkContext {
  plan: Plan;
  servers: Servers & { count: number; urlOf(index: number): string | undefined };
  webhookUrl: string;
  evidence: Evidence;
}

/** A job without an answer to its create is looked for this long; then it counts as not created. */
const JOB_LIMIT_MS = 60_000;

export async function perform(item: WorkItem, context: WorkContext): Promise<void> {
  const client = new PersistentClient(context.servers, context.plan.choices(item.name));
  try {
    if (item.kind === 'run') await workOnRun(item, client, context);
    else if (item.kind === 'session') await workOnSession(item, client, context);
    else if (item.kind === 'fork') await workOnFork(item, client, context);
    else if (item.kind === 'job') await workOnJob(item, client, context);
    else if (item.kind === 'upload') await workOnUpload(item, client, context);
    else await workInSlot(item, client, context);
  } catch (error) {
    context.evidence.unexpected.push({ work: item.name, what: (error as Error).message });
  }
}

type ItemOf<K extends WorkItem['kind']> = Extract<WorkItem, { kind: K }>;

function driven(
  options: Omit<DrivenRunOptions, 'webhookUrl'>,
  { webhookUrl, evidence }: WorkContext,
): DrivenRun {
  const run = new DrivenRun({ ...options, webhookUrl });
  evidence.runs.push(run.evidence);
  return run;
}

async function workOnRun({ name, run: plan }: ItemOf<'run'>, client: PersistentClient, context: WorkContext) {
  const run = driven({ client, work: name, plan, ...inSession(name) }, context);
  await run.create();
  await run.follow();
}

/** What is said outside of a session cannot be read afterwards. */
function inSession(name: string): Pick<DrivenRunOptions, 'fields' | 'evidence'> {
  return { fields: { session_id: name }, evidence: { session: name } };
}

/** All turns are asked for at once; the server takes them one after the other. */
async function workOnSession(
  { name, turns }: ItemOf<'session'>,
  client: PersistentClient,
  context: WorkContext,
) {
  const session = { id: name, runs: [] as (string | undefined)[] };
  context.evidence.sessions.push(session);
  const followed: Promise<void>[] = [];
  for (const [i, plan] of turns.entries()) {
    const run = driven({ client, work: `${name}t${i}`, plan, ...inSession(name) }, context);
    session.runs.push(await run.create());
    followed.push(run.follow());
  }
  await Promise.all(followed);
}

async function workOnFork(
  { name, run: plan, fork, atStep }: ItemOf<'fork'>,
  client: PersistentClient,
  context: WorkContext,
) {
  const source = driven({ client, work: name, plan, ...inSession(name) }, context);
  const runId = await source.create();
  await source.follow();
  const steps = source.evidence.seen
    .map((data) => JSON.parse(data) as { event: string; seq: number; step?: number })
    .filter(({ event }) => event === 'step.completed');
  const at = steps.find(({ step }) => step === atStep)?.seq;
  // After `step.completed` of a step with calls, these are still open: the fork has the steps before it.
  const has = at === undefined ? plan.steps.length : atStep! - 1;
  const forked = driven(
    {
      ...{ client, work: `${name}f`, plan: { ...fork, webhook: false }, path: `/v1/runs/${runId}/fork` },
      fields: at === undefined ? {} : { at },
      evidence: { fork: { of: runId, at, steps: has } },
    },
    context,
  );
  await forked.create();
  await forked.follow();
}

/** Creating a job has no key: an attempt without an answer may have made one, so each attempt has a name and a prompt of its own. */
async function workOnJob(
  { name, run: plan, dueInMs }: ItemOf<'job'>,
  client: PersistentClient,
  context: WorkContext,
) {
  for (const deadline = Date.now() + JOB_LIMIT_MS; Date.now() < deadline; await delay(200)) {
    const prompt = promptOf(plan);
    const job = { work: name, script: scriptIdOf(prompt), ...expectationsOf(plan) };
    const schedule = new Date(Date.now() + dueInMs).toISOString();
    const answer = await client.once<{ job: Job }>('/api/jobs', { body: { name, schedule, prompt } });
    // A paused server may get to it when its time has passed.
    if (answer?.status === 503 || isInThePast(answer)) continue;
    if (answer !== undefined && answer.status !== 200) {
      throw new Error(`the job got ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    context.evidence.jobs.push(answer === undefined ? job : { ...job, id: answer.body.job.id });
    if (answer === undefined) return;
    // A job that is due fires when a server is there; the checker looks at its run.
    const { id } = answer.body.job;
    for (const limit = Date.now() + 4 * JOB_LIMIT_MS; Date.now() < limit; await delay(300)) {
      const { body } = await client.get<RunList>(`/v1/runs?job_id=${id}`);
      if (body.data[0] !== undefined && hasEnded(body.data[0])) return;
    }
    throw new Error(`the run of job ${id} did not end`);
  }
}

function isInThePast(answer: { status: number; body: unknown } | undefined): boolean {
  return answer?.status === 400 && JSON.stringify(answer.body).includes('it is in the past');
}

function hasEnded({ status }: Run): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

async function workOnUpload(
  { name, bytes, seed, run: plan, deletes }: ItemOf<'upload'>,
  client: PersistentClient,
  context: WorkContext,
) {
  const content = randomBytes(bytes, seed);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const raw = new FormData();
  raw.set('file', new Blob([content]), `${name}.bin`);
  const { status, body } = await client.request<StoredFile>('/v1/files', { raw });
  if (status !== 200) throw new Error(`the upload got ${status} ${JSON.stringify(body)}`);
  const upload: UploadEvidence = { id: body.id, bytes, sha256, deletion: 'never asked' };
  context.evidence.uploads.push(upload);
  const run = driven(
    {
      ...{ client, work: name, plan },
      fields: { workspace: { files: [{ path: 'data.bin', file_id: body.id }] } },
      evidence: { upload: { path: 'data.bin', sha256 } },
    },
    context,
  );
  await run.create();
  // A run that was given the file keeps it.
  if (deletes) {
    upload.deletion = 'asked';
    const answer = await client.request<FileDeleted>(`/v1/files/${body.id}`, { method: 'DELETE' });
    if (answer.status === 200 || (answer.status === 404 && answer.unanswered > 0))
      upload.deletion = 'confirmed';
    else throw new Error(`the deletion got ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  await run.follow();
}

function randomBytes(count: number, seed: number): Uint8Array<ArrayBuffer> {
  const random = new SeededRandom(seed);
  return Uint8Array.from({ length: count }, () => random.next() * 256);
}

/** A trajectory works through its batches. Where its slot is gone, it acquires the next one and goes on; no call is sent twice. */
async function workInSlot(
  { name, number, batches }: ItemOf<'slot'>,
  client: PersistentClient,
  context: WorkContext,
) {
  const server = number % context.servers.count;
  const slot: SlotEvidence = { trajectory: name, server, kept: [], sent: [] };
  context.evidence.slots.push(slot);
  const url = () => context.servers.urlOf(server);
  for (const batch of batches) {
    const acquired = await client.request<Slot>('/v1/slots', { url, body: { trajectory_id: name } });
    if (acquired.status !== 200)
      throw new Error(`acquire: ${acquired.status} ${JSON.stringify(acquired.body)}`);
    const marks = batch.map(({ mark }) => mark);
    const requests = marks.map((mark) => ({
      slot_id: acquired.body.id,
      tool: 'bash',
      args: { command: markingCommand(mark, 'plain') },
    }));
    slot.sent.push(...marks);
    const answer = await client.once<SlotResults>('/v1/slots/execute', { url, body: { requests } });
    if (answer?.status !== 200) continue;
    for (const [i, { success, metadata }] of answer.body.results.entries()) {
      if (success) slot.kept.push(marks[i]!);
      if (metadata.files_after_loss === 'reverted') slot.kept = [];
    }
  }
}
