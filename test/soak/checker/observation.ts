/** What the servers say after a round, read over the wire by somebody who knows no more than the ids: the facts that the rules judge. */
import { createHash } from 'node:crypto';
import type {
  ArtifactList,
  Job,
  Run,
  RunList,
  SessionMessage,
  SessionMessageList,
  Slot,
  SlotArtifactList,
  StoredFile,
} from '@talaria/protocol';
import { Api } from '../../support/api.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Evidence, type Mark, parseMarks, type RunEvidence, type SlotEvidence } from '../evidence.ts';

/** The servers have nothing else to do now. */
const SETTLED_LIMIT_MS = 120_000;

export interface Observation {
  runs: Record<string, ObservedRun>;
  /** Every run that the list has, on all of its pages. */
  listed: Pick<Run, 'run_id' | 'input' | 'job_id' | 'status' | 'created_at'>[];
  sessions: Record<string, SessionMessage[]>;
  jobs: Job[];
  uploads: Record<string, { status: number; sha256?: string }>;
  /** Names of the files below `made` in the trajectory, by its name; undefined where it could not be read. */
  slots: Record<string, string[] | undefined>;
  marks: Mark[];
  /** Of all servers together. */
  leased: number;
  queued: number;
  /** What could not be read. */
  unreadable: { of: string; what: string }[];
}

export interface ObservedRun {
  run: Run;
  /** The `data` of all frames, as each server tells them. */
  reads: { data: string[]; clean: boolean }[];
  /** Of its session; a fork is in one of its own. */
  messages: SessionMessage[];
  /** Relative to the workspace; undefined if it has none. */
  files: string[] | undefined;
  upload?: string | undefined;
}

export async function observe(evidence: Evidence): Promise<Observation> {
  const apis = evidence.urls.map((url) => new Api(url, evidence.apiKey));
  const api = apis[0]!;
  const observation: Observation = {
    runs: {},
    listed: await listRuns(api),
    ...{ sessions: {}, jobs: [], uploads: {}, slots: {}, marks: [], unreadable: [] },
    ...(await waitUntilSettled(apis)),
  };
  const read = async (of: string, action: () => Promise<void>) => {
    await action().catch((error: Error) => observation.unreadable.push({ of, what: error.message }));
  };
  const known = new Map<string, RunEvidence | undefined>(
    observation.listed.map(({ run_id }) => [run_id, undefined]),
  );
  for (const run of evidence.runs) for (const id of run.ids) known.set(id, run);
  for (const [id, run] of known) {
    await read(id, async () => {
      observation.runs[id] = await observeRun(apis, id, run, observation.marks);
    });
  }
  for (const { id } of evidence.sessions) {
    await read(id, async () => {
      observation.sessions[id] = await messagesOf(api, id);
    });
  }
  await read('jobs', async () => {
    observation.jobs = (await get<{ jobs: Job[] }>(api, '/api/jobs?include_disabled=true')).jobs;
  });
  for (const { id } of evidence.uploads) {
    await read(id, async () => {
      observation.uploads[id] = await observeUpload(api, id);
    });
  }
  for (const slot of evidence.slots) {
    await read(slot.trajectory, async () => {
      observation.slots[slot.trajectory] = await observeSlot(apis[slot.server]!, slot, observation.marks);
    });
  }
  return observation;
}

/** Nothing is done by then, unless something is held for ever. */
async function waitUntilSettled(apis: readonly Api[]): Promise<Pick<Observation, 'leased' | 'queued'>> {
  const count = async () => {
    const health = await Promise.all(
      apis.map((api) => get<{ queue: { leased: number; queued: number } }>(api, '/health/detailed')),
    );
    const most = (of: 'leased' | 'queued') => Math.max(...health.map(({ queue }) => queue[of]));
    return { leased: most('leased'), queued: most('queued') };
  };
  const none = async () => {
    const { leased, queued } = await count();
    return leased + queued === 0;
  };
  await waitFor('the end of all work', none, SETTLED_LIMIT_MS).catch(() => {});
  return count();
}

async function observeRun(
  apis: readonly Api[],
  runId: string,
  evidence: RunEvidence | undefined,
  marks: Mark[],
): Promise<ObservedRun> {
  const api = apis[0]!;
  const reads = [];
  for (const each of apis) {
    const { frames, clean } = await each.stream(runId);
    reads.push({ data: frames.map(({ data }) => data), clean });
  }
  // Again by the server that answered first: it may now answer from memory.
  const { frames, clean } = await api.stream(runId);
  reads.push({ data: frames.map(({ data }) => data), clean });
  const left = await contentOf(api, runId, 'marks');
  marks.push(...parseMarks(left?.toString() ?? ''));
  const path = evidence?.upload?.path;
  const upload = path === undefined ? undefined : await contentOf(api, runId, path);
  return {
    // Its webhook may still be on its way.
    run: await waitFor(
      `the webhook of ${runId}`,
      async () => {
        const run = await get<Run>(api, `/v1/runs/${runId}`);
        return (run.webhook?.pending ?? 0) === 0 && run;
      },
      SETTLED_LIMIT_MS,
    ),
    reads,
    messages: await messagesOf(api, evidence?.session ?? runId),
    files: await filesOf(api, runId),
    ...(upload === undefined ? {} : { upload: sha256Of(upload) }),
  };
}

async function contentOf(api: Api, runId: string, path: string): Promise<Buffer | undefined> {
  return bytesOf(api, `/v1/runs/${runId}/artifacts/content?path=${path}`);
}

async function bytesOf({ baseUrl, key }: Api, path: string): Promise<Buffer | undefined> {
  const response = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${key}` } });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${bytes}`);
  return bytes;
}

async function filesOf(api: Api, runId: string): Promise<string[] | undefined> {
  const { data, truncated } = await get<ArtifactList>(api, `/v1/runs/${runId}/artifacts?recursive=true`);
  if (truncated) throw new Error('expected all of its files, got a part of them');
  return data.map(({ path }) => path);
}

async function messagesOf(api: Api, sessionId: string): Promise<SessionMessage[]> {
  const messages: SessionMessage[] = [];
  for (let after = ''; ; ) {
    const { status, body } = await api.get<SessionMessageList>(
      `/api/sessions/${sessionId}/messages?limit=500${after}`,
    );
    if (status === 404) return [];
    if (status !== 200) throw new Error(`the messages of ${sessionId}: ${status}`);
    messages.push(...body.data);
    if (!body.has_more) return messages;
    after = `&after=${body.next_cursor}`;
  }
}

async function listRuns(api: Api): Promise<Observation['listed']> {
  const listed: Observation['listed'] = [];
  for (let after = ''; ; ) {
    const page = await get<RunList>(api, `/v1/runs?view=head&limit=200${after}`);
    listed.push(...page.data);
    if (!page.has_more) return listed;
    after = `&after=${page.next_cursor}`;
  }
}

async function observeUpload(api: Api, id: string): Promise<{ status: number; sha256?: string }> {
  const { status } = await api.get<StoredFile>(`/v1/files/${id}`);
  const bytes = await bytesOf(api, `/v1/files/${id}/content`);
  return { status, ...(bytes === undefined ? {} : { sha256: sha256Of(bytes) }) };
}

/** Also releases it for good: nothing of it may be left afterwards. */
async function observeSlot(api: Api, { trajectory }: SlotEvidence, marks: Mark[]): Promise<string[]> {
  const acquired = await api.post<Slot>('/v1/slots', { trajectory_id: trajectory });
  if (acquired.status !== 200)
    throw new Error(`acquire: ${acquired.status} ${JSON.stringify(acquired.body)}`);
  const { id } = acquired.body;
  const { data } = await get<SlotArtifactList>(api, `/v1/slots/${id}/artifacts?recursive=true`);
  const left = await bytesOf(api, `/v1/slots/${id}/artifacts/content?path=marks`);
  marks.push(...parseMarks(left?.toString() ?? ''));
  const { status } = await api.post(`/v1/slots/${id}/release`, { reset_workspace: true });
  if (status !== 200) throw new Error(`release: ${status}`);
  return data.map(({ path }) => path);
}

async function get<T>(api: Api, path: string): Promise<T> {
  const { status, body } = await api.get<T>(path);
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
