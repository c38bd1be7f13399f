/**
 * The log of a claimed run, for the worker that owns it: what the worker appends and what others post are applied to the
 * run's progress, each record once and in the order of the log.
 */
import { type ApiErrorCode, type ApprovalChoice, TalariaError, type ToolOutput } from '@talaria/protocol';
import { Progress } from '../agent/progress.ts';
import { type AppendOptions, type Claim, type Journal, LeaseLostError } from '../journal/journal.ts';
import type { Post } from '../journal/posts.ts';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import type { Report } from '../telemetry/facts.ts';
import { RunFacts } from '../telemetry/run-facts.ts';

export interface OwnedLogOptions {
  journal: Journal;
  report: Report;
  /** Every refresh calls it once somebody has asked to stop the run. */
  onStop(): void;
}

export class OwnedLog {
  readonly #claim: Claim;
  readonly #options: OwnedLogOptions;
  readonly #facts: RunFacts;
  #progress = new Progress();
  #lastPos = -1;
  #held: readonly NewRecord[] = [];
  #waiters: (() => void)[] = [];
  #refreshing: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(claim: Claim, options: OwnedLogOptions) {
    this.#claim = claim;
    this.#options = options;
    this.#facts = new RunFacts(claim.run, options.report);
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** The position of the last known record. */
  get lastPos(): number {
    return this.#lastPos;
  }

  /** Records that join the next append. */
  get held(): readonly NewRecord[] {
    return this.#held;
  }

  /** Reads all of it, once, before anything else. */
  async read(): Promise<LogRecord[]> {
    const reading = this.#options.journal.readLog(this.#claim.runId, -1).then((log) => {
      this.#progress = Progress.replay(log);
      this.#facts.replay(log);
      this.#lastPos = log.at(-1)?.pos ?? -1;
      return log;
    });
    // Posts that arrive meanwhile have to wait for it; applied before, they would be lost or counted twice.
    this.#refreshing = reading;
    return reading;
  }

  /** The next append appends these records too, in the same commit. */
  hold(records: readonly NewRecord[]): void {
    this.#held = records;
  }

  async append(records: readonly NewRecord[], options?: AppendOptions): Promise<LogRecord[]> {
    if (this.#closed) throw new LeaseLostError(this.#claim.runId);
    const held = this.#held;
    this.#held = [];
    const stored = await this.#options.journal
      .append(this.#claim, [...held, ...records], options)
      .catch((error: unknown) => {
        this.#held = held;
        throw error;
      });
    for (const record of stored) this.#progress.apply(record);
    this.#lastPos = stored.at(-1)?.pos ?? this.#lastPos;
    this.#facts.recorded(stored);
    return stored;
  }

  /** The answer of the run itself, such as after a timeout. Returns false if somebody else was quicker. */
  answerApproval(requestId: string, choice: ApprovalChoice, reason: string): Promise<boolean> {
    return this.#post({ kind: 'approval', requestId, choice, all: false, reason }, 'approval_not_pending');
  }

  /** One by one: if one was answered meanwhile, the others still need an answer. */
  async answerCalls(outputs: readonly ToolOutput[]): Promise<void> {
    for (const output of outputs) {
      await this.#post({ kind: 'tool_outputs', outputs: [output], reason: 'timeout' }, 'call_not_pending');
    }
  }

  /** Posts as a client does. Returns false if the store refuses with the code `taken`. */
  async #post(post: Post, taken: ApiErrorCode): Promise<boolean> {
    try {
      await this.#options.journal.post(this.#claim.runId, post);
      return true;
    } catch (error) {
      if (error instanceof TalariaError && error.code === taken) return false;
      throw error;
    } finally {
      await this.refresh();
    }
  }

  /** Applies what was posted; one read at a time, so that no post is applied twice. */
  async refresh(): Promise<void> {
    const refresh = async (): Promise<void> => {
      const { journal, onStop } = this.#options;
      const posts = await journal.readPosted(this.#claim.runId, this.#progress.lastPostedPos);
      for (const post of posts) this.#progress.apply(post);
      this.#facts.recorded(posts);
      if (this.#progress.stopRequested) onStop();
      const waiters = this.#waiters;
      this.#waiters = [];
      for (const wake of waiters) wake();
    };
    const refreshed = this.#refreshing.then(refresh, refresh);
    this.#refreshing = refreshed;
    return refreshed;
  }

  /** Resolves after the next refresh. */
  nextPost(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** From now on it refuses every append. */
  close(): void {
    this.#closed = true;
  }
}
