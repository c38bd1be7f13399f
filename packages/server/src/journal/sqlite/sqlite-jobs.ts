/** The part of the SQLite driver that keeps jobs. */
import type { Agenda, JobChange, Jobs, JobVersion, NewJob, StoredJob } from '../jobs.ts';
import type { Wakeups } from '../wakeups.ts';
import type { JobsReader } from './jobs-reader.ts';
import type { WriterClient } from './writer-client.ts';

export class SqliteJobs implements Jobs {
  readonly #writer: WriterClient;
  readonly #reader: JobsReader;
  readonly #wakeups: Wakeups;
  readonly #now: () => number;

  constructor(writer: WriterClient, reader: JobsReader, wakeups: Wakeups, now: () => number) {
    this.#writer = writer;
    this.#reader = reader;
    this.#wakeups = wakeups;
    this.#now = now;
  }

  async create(job: NewJob, maxJobs: number): Promise<StoredJob | undefined> {
    const created = await this.#writer.write.jobs.create(job, maxJobs);
    this.#wakeups.wakeJobs();
    return created;
  }

  async get(jobId: string): Promise<StoredJob | undefined> {
    return this.#reader.get(jobId);
  }

  async list(owner: string): Promise<StoredJob[]> {
    return this.#reader.list(owner);
  }

  async update(read: JobVersion, change: JobChange): Promise<StoredJob | undefined> {
    const job = await this.#writer.write.jobs.update(read, change);
    this.#wakeups.wakeJobs();
    return job;
  }

  delete(jobId: string): Promise<boolean> {
    return this.#writer.write.jobs.delete(jobId);
  }

  async agenda(limit: number): Promise<Agenda> {
    return this.#reader.agenda(limit, this.#now());
  }

  async planned(): Promise<StoredJob[]> {
    return this.#reader.planned(this.#now());
  }

  watch(listener: () => void): () => void {
    return this.#wakeups.watchJobs(listener);
  }
}
