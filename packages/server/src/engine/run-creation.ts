/** Puts new runs into the queue, and says why one is refused. */
import { createRunId, type RunCreated, TalariaError } from '@talaria/protocol';
import { failpoint } from '../basics/failpoints.ts';
import { hashJson } from '../basics/hash-json.ts';
import type { QueuePace } from '../basics/queue-pace.ts';
import type { StoredJob } from '../journal/jobs.ts';
import type { CreateLimits, CreateOutcome, IdempotencyKey, Journal, NewRun } from '../journal/journal.ts';
import type { Webhook } from '../journal/outbox.ts';
import type { Report } from '../telemetry/facts.ts';
import type { Workload } from './run-work.ts';
import { shownInput } from './shown-input.ts';

export interface Idempotency {
  key: string;
  /** Two requests with this key are the same if this value is the same. */
  body: unknown;
  /** How long the key stands for its run after the run has ended; a day by default. */
  keptMs?: number | undefined;
}

export interface RunCreationOptions {
  journal: Pick<Journal, 'createRun'>;
  maxQueuedRuns: number;
  /** How many API keys share the queue. */
  owners: number;
  /** How fast runs leave the queue. */
  pace: QueuePace;
  work: Pick<Workload, 'room'>;
  /** The webhook for a run that asks for none. */
  defaultWebhook(): Webhook | undefined;
  /** Masks a text that is shown. */
  mask(text: string): string;
  report: Report;
}

export class RunCreation {
  readonly #options: RunCreationOptions;

  constructor(options: RunCreationOptions) {
    this.#options = options;
  }

  /** Creates a run that no job starts. */
  async accept(run: NewRun): Promise<RunCreated> {
    const outcome = await this.#create(run);
    switch (outcome.kind) {
      case 'created':
        return { run_id: run.runId, status: 'started', replayed: false };
      case 'replayed':
        return { run_id: outcome.runId, status: outcome.status, replayed: true };
      case 'conflict':
        throw new TalariaError('idempotency_key_conflict');
      case 'queue_full':
        throw this.#queueFull(outcome.excess);
      case 'job_changed':
        throw new Error('A run without a job was refused because of its job');
    }
  }

  async #create(run: NewRun): Promise<CreateOutcome> {
    const outcome = await this.#options.journal.createRun(run, this.#createLimits());
    failpoint('run.after-create');
    this.#options.report({ fact: 'run.submitted', outcome: outcome.kind });
    return outcome;
  }

  /**
   * A `StartJobRun`. Each run has a session of its own; for a job without a prompt, the name of the job is the prompt.
   */
  readonly startJobRun = async (job: StoredJob, nextRunAt?: number | null): Promise<string | undefined> => {
    const { jobId, version, owner, name, prompt, retentionSeconds } = job;
    const runId = createRunId();
    const told = prompt.trim() === '' ? name : prompt;
    const outcome = await this.#create({
      runId,
      owner,
      sessionId: runId,
      request: {
        prompt: told,
        shown_input: shownInput(told, this.#options.mask),
        session_named: false,
      },
      webhook: this.#options.defaultWebhook(),
      job: { jobId, version, nextRunAt },
      retentionMs: retentionSeconds === null ? undefined : retentionSeconds * 1000,
    });
    if (outcome.kind === 'queue_full') throw this.#queueFull(outcome.excess);
    return outcome.kind === 'created' ? runId : undefined;
  };

  #queueFull(excess: number): TalariaError {
    return new TalariaError('rate_limit_exceeded', { retryAfterS: this.#options.pace.retryAfterS(excess) });
  }

  #createLimits(): CreateLimits {
    const { maxQueuedRuns, owners, work } = this.#options;
    return {
      // A run that a free worker is about to take is in the queue for a moment, but does not wait. So a burst may
      // exceed the limit by the number of free workers: better than to refuse a run that a worker is free for.
      maxQueued: maxQueuedRuns + work.room,
      ownerShare: Math.ceil(maxQueuedRuns / owners),
    };
  }
}

export function toKey({ key, body, keptMs }: Idempotency): IdempotencyKey {
  return { key, bodyHash: hashJson(body), keptMs };
}
