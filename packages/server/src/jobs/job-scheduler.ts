/**
 * Starts the runs of jobs that are due.
 *
 * It reads the agenda when the next job is due, when a job was changed, and in a slow poll, because other servers
 * change jobs as well. The store's clock decides what is due; the clock of this process is only used for waiting.
 *
 *   due ──▶ its last run is unfinished ──▶ skipped: never two at once; the next time applies
 *       ──▶ started, in one transaction with the job's next time: of several servers one succeeds
 *       ──▶ no room in the queue, or the store fails ──▶ still due, tried again soon
 *       ──▶ its key is not one of this server ──▶ left alone: the operator who removed the key has stopped its jobs
 *
 * Whatever came due while no server was running is found at the first read and fires once.
 */
import { TalariaError } from '@talaria/protocol';
import { failpoint } from '../basics/failpoints.ts';
import type { Log } from '../basics/log.ts';
import { isRunning, type Jobs, type StoredJob } from '../journal/jobs.ts';
import { noReport, type Report } from '../telemetry/facts.ts';
import { correctedPlan, runAfter } from './plan.ts';
import type { StartJobRun } from './start-job-run.ts';

const POLL_MS = 15_000;
/** For a place in the queue, or for a store that is unavailable. */
const RETRY_MS = 5_000;
const BATCH = 50;

/** Calls back once after the time. The returned function prevents that. */
export type After = (ms: number, callback: () => void) => () => void;

export interface JobSchedulerOptions {
  store: Jobs;
  startRun: StartJobRun;
  /** Whether this server starts the jobs of the owner. */
  isServed(owner: string): boolean;
  log: Log;
  report?: Report;
  after?: After;
}

/** Only a job that is `done` is not due any more. */
type Outcome = 'done' | 'queue_full' | 'failed';

export class JobScheduler {
  readonly #options: JobSchedulerOptions;
  readonly #after: After;
  #unwatch = (): void => {};
  #cancelTimer = (): void => {};
  #looking: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  /** Jobs that could not be started at the last read and are already logged. */
  #failing: ReadonlySet<string> = new Set();
  /** The store's time at the last read. */
  #lastNow: number | undefined;

  constructor(options: JobSchedulerOptions) {
    this.#options = options;
    this.#after = options.after ?? afterTimeout;
  }

  start(): void {
    this.#unwatch = this.#options.store.watch(() => this.#lookSoon());
    this.#lookSoon();
  }

  /** Resolves when nothing will be started any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unwatch();
    this.#cancelTimer();
    await this.#looking;
  }

  #lookSoon(): void {
    if (this.#stopped) return;
    if (this.#looking === undefined) this.#looking = this.#look();
    else this.#again = true;
  }

  async #look(): Promise<void> {
    this.#cancelTimer();
    let waitMs = RETRY_MS;
    try {
      do {
        this.#again = false;
        waitMs = await this.#fireAllDue();
      } while (this.#again && !this.#stopped);
    } catch (error) {
      this.#options.log.error({ err: error }, 'looking for due jobs failed; it will be retried');
    } finally {
      this.#looking = undefined;
      if (!this.#stopped) this.#cancelTimer = this.#after(waitMs, () => this.#lookSoon());
    }
  }

  /** Returns for how long there is nothing to do. */
  async #fireAllDue(): Promise<number> {
    const { store, isServed, log } = this.#options;
    /** Jobs that stay due: they delay no other. */
    const left = new Set<string>();
    const failing = new Set<string>();
    const outcomes: Outcome[] = [];
    for (;;) {
      const { now, due, nextAt } = await store.agenda(BATCH + left.size);
      if (this.#lastNow === undefined || now < this.#lastNow) await this.#correctPlans(now);
      this.#lastNow = now;
      const found = due.filter(({ jobId }) => !left.has(jobId));
      if (found.length === 0 || this.#stopped) {
        this.#failing = failing;
        const full = outcomes.filter((outcome) => outcome === 'queue_full').length;
        if (full > 0) log.warn({ jobs: full }, 'jobs are due and the queue is full; they will be retried');
        const longestMs = outcomes.every((outcome) => outcome === 'done') ? POLL_MS : RETRY_MS;
        return nextAt === null ? longestMs : Math.min(longestMs, Math.max(1, nextAt - now));
      }
      await Promise.all(
        found.map(async (job) => {
          const outcome = isServed(job.owner) ? await this.#fire(job, now) : 'not_served';
          if (outcome !== 'done') left.add(job.jobId);
          if (outcome === 'failed') failing.add(job.jobId);
          if (outcome !== 'not_served') outcomes.push(outcome);
        }),
      );
    }
  }

  async #fire(job: StoredJob, now: number): Promise<Outcome> {
    const { store, startRun, log, report = noReport } = this.#options;
    const { jobId, schedule, timezone, nextRunAt } = job;
    try {
      const next = runAfter(schedule, timezone, nextRunAt ?? now, now);
      if (isRunning(job)) {
        const skipped = await store.update(job, { nextRunAt: next, lastSkippedAt: now });
        if (skipped === undefined) return 'done';
        report({ fact: 'job.due', outcome: 'skipped' });
        log.info({ jobId }, 'a job is due but its last run is unfinished; skipped');
        return 'done';
      }
      failpoint('job.before-fire');
      const runId = await startRun(job, next);
      if (runId === undefined) return 'done';
      report({ fact: 'job.due', outcome: 'started' });
      log.debug({ jobId, runId }, 'a job has started its run');
      return 'done';
    } catch (error) {
      report({ fact: 'job.due', outcome: 'postponed' });
      if (error instanceof TalariaError && error.code === 'rate_limit_exceeded') return 'queue_full';
      if (!this.#failing.has(jobId)) {
        log.error({ jobId, err: error }, 'a job that is due could not be started; it will be retried');
      }
      return 'failed';
    }
  }

  /** At the start and after the clock was set back; see `correctedPlan`. */
  async #correctPlans(now: number): Promise<void> {
    const { store, log } = this.#options;
    for (const job of await store.planned()) {
      const { jobId, schedule, timezone, nextRunAt } = job;
      try {
        const planned = nextRunAt ?? now;
        const corrected = correctedPlan(schedule, timezone, planned, now);
        if (corrected !== planned) await store.update(job, { nextRunAt: corrected });
      } catch (error) {
        log.error({ jobId, err: error }, 'the next run of a job could not be computed');
      }
    }
  }
}

const afterTimeout: After = (ms, callback) => {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
};
