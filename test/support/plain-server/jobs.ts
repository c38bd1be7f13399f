/** Jobs that are kept, paused and resumed, and never run. */
import { randomBytes } from 'node:crypto';
import type { Job, JobSchedule } from '@talaria/protocol';
import type { PlainAnswer, PlainRoute } from './plain-server.ts';

const PATH = '/api/jobs';

export class PlainJobs {
  readonly #jobs = new Map<string, Job>();

  readonly route: PlainRoute = ({ method, path, query, body }) => {
    if (path === PATH && method === 'POST') return this.#create(body);
    if (path === PATH) {
      const disabled = query.get('include_disabled') === 'true';
      return { json: { jobs: [...this.#jobs.values()].filter((job) => disabled || job.enabled) } };
    }
    if (!path.startsWith(`${PATH}/`)) return undefined;
    const [id = '', action = ''] = path.slice(PATH.length + 1).split('/');
    if (!/^[0-9a-f]{12}$/.test(id)) return refuse(400, 'Invalid job ID format');
    const job = this.#jobs.get(id);
    if (job === undefined) return refuse(404, 'Job not found');
    if (method === 'DELETE') {
      this.#jobs.delete(id);
      return { json: { ok: true } };
    }
    const { schedule, ...fields } = body;
    Object.assign(job, fields, scheduled(schedule), STATES[action]);
    return { json: { job } };
  };

  #create({ name, schedule, repeat, ...fields }: Record<string, unknown>): PlainAnswer {
    if (!name) return refuse(400, 'Name is required');
    if (!schedule) return refuse(400, 'Schedule is required');
    const job: Record<string, unknown> = {
      id: randomBytes(6).toString('hex'),
      name,
      prompt: '',
      skills: [],
      repeat: { times: repeat ?? null, completed: 0 },
      enabled: true,
      state: 'scheduled',
      paused_at: null,
      paused_reason: null,
      created_at: new Date().toISOString(),
      next_run_at: new Date(Date.now() + 3_600_000).toISOString(),
      last_run_at: null,
      last_status: null,
      last_error: null,
      deliver: 'local',
      ...fields,
      ...scheduled(schedule),
    };
    this.#jobs.set(String(job.id), job as Job);
    return { json: { job } };
  }
}

function refuse(status: number, error: string): PlainAnswer {
  return { status, json: { error } };
}

const STATES: Record<string, Partial<Job>> = {
  pause: { state: 'paused', enabled: false, paused_at: new Date().toISOString() },
  resume: { state: 'scheduled', enabled: true, paused_at: null },
};

function scheduled(text: unknown): { schedule?: JobSchedule; schedule_display?: string } {
  if (typeof text !== 'string') return {};
  const every = /^every (\d+)m$/.exec(text);
  const schedule: JobSchedule = every
    ? { kind: 'interval', minutes: Number(every[1]), display: text }
    : { kind: 'cron', expr: text, display: text };
  return { schedule, schedule_display: text };
}
