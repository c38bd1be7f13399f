/** `/api/jobs`: runs on a schedule. */
import type {
  CreateJobRequest,
  Job,
  JobAnswer,
  JobDeleted,
  JobList,
  PauseJobRequest,
  UpdateJobRequest,
} from '@talaria/protocol';
import type { Params } from '../params.ts';
import {
  type Call,
  type Fields,
  isFields,
  type RequestOptions,
  segment,
  type Transport,
} from '../transport.ts';

export type CreateJobParams = Params<CreateJobRequest>;
export type UpdateJobParams = Params<UpdateJobRequest>;
export type PauseJobParams = Params<PauseJobRequest>;

export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(
    query: { include_disabled?: boolean | undefined } = {},
    options?: RequestOptions,
  ): Promise<Job[]> {
    const call = { method: 'GET', path: '/api/jobs', query, fits: isList, repeat: true } as const;
    return (await this.#transport.json<JobList>(call, options)).jobs;
  }

  create(params: CreateJobParams, options?: RequestOptions): Promise<Job> {
    return this.#job({ method: 'POST', path: '/api/jobs', body: params, repeat: false }, options);
  }

  get(jobId: string, options?: RequestOptions): Promise<Job> {
    return this.#job({ method: 'GET', path: pathOf(jobId), repeat: true }, options);
  }

  update(jobId: string, params: UpdateJobParams, options?: RequestOptions): Promise<Job> {
    return this.#job({ method: 'PATCH', path: pathOf(jobId), body: params, repeat: true }, options);
  }

  delete(jobId: string, options?: RequestOptions): Promise<JobDeleted> {
    const call = { method: 'DELETE', path: pathOf(jobId), repeat: true } as const;
    return this.#transport.json<JobDeleted>(call, options);
  }

  pause(jobId: string, params: PauseJobParams = {}, options?: RequestOptions): Promise<Job> {
    return this.#job({ method: 'POST', path: `${pathOf(jobId)}/pause`, body: params, repeat: true }, options);
  }

  resume(jobId: string, options?: RequestOptions): Promise<Job> {
    return this.#job({ method: 'POST', path: `${pathOf(jobId)}/resume`, body: {}, repeat: true }, options);
  }

  /** Runs the job now, in addition to its schedule. `last_run_id` is the new run, where the server sends it. */
  run(jobId: string, options?: RequestOptions): Promise<Job> {
    return this.#job({ method: 'POST', path: `${pathOf(jobId)}/run`, body: {}, repeat: false }, options);
  }

  async #job(call: Call, options: RequestOptions | undefined): Promise<Job> {
    return (await this.#transport.json<JobAnswer>({ ...call, fits: isJob }, options)).job;
  }
}

function isList({ jobs }: Fields): boolean {
  return Array.isArray(jobs) && jobs.every(isFields);
}

function isJob({ job }: Fields): boolean {
  return isFields(job);
}

function pathOf(jobId: string): string {
  return `/api/jobs/${segment(jobId)}`;
}
