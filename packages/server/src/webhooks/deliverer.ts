/**
 * Sends the messages in the outbox, until each is delivered or given up.
 *
 * It looks for work when a message was added, when an attempt has ended, when the next message is due, and in a slow
 * poll, which finds what another server left behind. Nothing waits for it: not the runs, whose messages are in the
 * store, and not one receiver for another, because each has only a share of the concurrent attempts.
 */
import { failpoint } from '../basics/failpoints.ts';
import type { Log } from '../basics/log.ts';
import { type ClaimedMessage, type Outbox, receiverOf, type Settlement } from '../journal/outbox.ts';
import { noReport, type Report } from '../telemetry/facts.ts';
import { PRIVATE_ADDRESSES } from './address-rules.ts';
import { retryDelayMs } from './backoff.ts';
import { postMessage } from './post-message.ts';
import { messageHeaders } from './signature.ts';

const ATTEMPT_MS = 10_000;
/** Far longer than an attempt: a message that is being sent is never sent by another server as well. */
const LEASE_MS = 60_000;
const POLL_MS = 15_000;
const CONCURRENT_MAX = 64;
const PER_RECEIVER_MAX = 4;
/**
 * Attempts in progress when the server stops are mostly done in a moment; if they were cut off, a message would come
 * twice.
 */
const GRACE_MS = 1_000;

/** A receiver that fails this often in a row is not just being restarted. */
const RESTARTED_ATTEMPTS = 2;

export interface DelivererOptions {
  outbox: Outbox;
  /** The configured receiver: the operator is told when it fails for a while. */
  defaultUrl?: string | undefined;
  /** Signs the messages of the default webhook. */
  secret: string | undefined;
  allowPrivate: boolean;
  userAgent: string;
  log: Log;
  report?: Report;
  attemptMs?: number;
  pollMs?: number;
  graceMs?: number;
  now?: () => number;
  random?: () => number;
}

export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #attempts = new Set<Promise<void>>();
  readonly #cut = new AbortController();
  #stopping = false;
  #defaultFails = false;
  #unwatch = (): void => {};
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #again = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unwatch = this.#options.outbox.watch(() => this.#look());
    this.#look();
  }

  /**
   * Starts no new attempt; what is not sent within a moment is cut off and returned. Resolves when no attempt is in
   * progress.
   */
  async stop(): Promise<void> {
    this.#unwatch();
    this.#stopping = true;
    await this.#looking;
    clearTimeout(this.#timer);
    const cutting = setTimeout(() => this.#cut.abort(), this.#options.graceMs ?? GRACE_MS);
    await Promise.all(this.#attempts);
    clearTimeout(cutting);
  }

  #look(): void {
    if (this.#stopping) return;
    if (this.#looking === undefined) this.#looking = this.#claim();
    else this.#again = true;
  }

  async #claim(): Promise<void> {
    const { outbox, log, pollMs = POLL_MS } = this.#options;
    let nextInMs: number | undefined;
    try {
      do {
        this.#again = false;
        const due = await outbox.due();
        nextInMs = due.nextInMs;
        const limit = CONCURRENT_MAX - this.#attempts.size;
        if (!due.now || limit === 0) continue;
        const messages = await outbox.claim({ leaseMs: LEASE_MS, limit, perReceiver: PER_RECEIVER_MAX });
        for (const message of messages) this.#begin(message);
      } while (this.#again && !this.#stopping);
    } catch (error) {
      log.error({ err: error }, 'looking for webhook messages failed; it will be retried');
    } finally {
      this.#looking = undefined;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), Math.min(nextInMs ?? pollMs, pollMs));
    }
  }

  #begin(message: ClaimedMessage): void {
    const attempt = this.#deliver(message).finally(() => {
      this.#attempts.delete(attempt);
      this.#look();
    });
    this.#attempts.add(attempt);
  }

  /** Never rejects. A message that could not be settled is sent again when its lease has ended. */
  async #deliver(message: ClaimedMessage): Promise<void> {
    const { outbox, log, report = noReport } = this.#options;
    const fields = { runId: message.runId, message: message.id, receiver: receiverOf(message.url) };
    try {
      const startedAt = Date.now();
      const settlement = await this.#send(message);
      failpoint('webhook.after-send');
      report({ fact: 'webhook.attempt', outcome: settlement.kind, startedAt, endedAt: Date.now() });
      if (settlement.kind === 'failed') {
        const attempts = message.attempts + 1;
        log.warn({ ...fields, attempts }, `a webhook message is given up: ${settlement.error}`);
      } else if (settlement.kind === 'postponed') {
        log.debug(fields, `a webhook message will be retried: ${settlement.error}`);
      }
      this.#noteDefault(message, settlement);
      await outbox.settle(message, settlement);
    } catch (error) {
      log.error({ ...fields, err: error }, 'a webhook message could not be settled; it will be sent again');
    }
  }

  /**
   * Does not log a receiver that a run has named: its state concerns the client that started the run, not the operator.
   */
  #noteDefault({ url, attempts }: ClaimedMessage, settlement: Settlement): void {
    const { defaultUrl, log } = this.#options;
    if (url !== defaultUrl) return;
    const receiver = receiverOf(url);
    if (settlement.kind === 'delivered' && this.#defaultFails) {
      this.#defaultFails = false;
      log.warn({ receiver }, 'the default webhook accepts messages again');
    } else if ('error' in settlement && attempts >= RESTARTED_ATTEMPTS && !this.#defaultFails) {
      this.#defaultFails = true;
      log.warn({ receiver }, `the default webhook fails: ${settlement.error}`);
    }
  }

  async #send(message: ClaimedMessage): Promise<Settlement> {
    const { secret, allowPrivate, userAgent, attemptMs = ATTEMPT_MS, now = Date.now } = this.#options;
    const { signal } = this.#cut;
    // The operator can fix that; sending the message unsigned would surprise its receiver.
    if (message.secret.kind === 'configured' && secret === undefined) {
      return this.#postpone(message, 'the secret of the default webhook is not configured any more');
    }
    const posted = await postMessage({
      url: message.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': userAgent,
        ...messageHeaders(message, secretOf(message, secret), now()),
      },
      body: message.body,
      timeoutMs: attemptMs,
      blocked: allowPrivate ? undefined : PRIVATE_ADDRESSES,
      signal,
    });
    if (posted.kind === 'taken') return { kind: 'delivered' };
    if (signal.aborted) return { kind: 'returned' };
    if (posted.kind === 'refused') return { kind: 'failed', error: posted.error };
    return this.#postpone(message, posted.error);
  }

  #postpone({ attempts, ageMs }: ClaimedMessage, error: string): Settlement {
    const { random = Math.random } = this.#options;
    const delayMs = retryDelayMs(attempts + 1, ageMs, random());
    return delayMs === undefined ? { kind: 'failed', error } : { kind: 'postponed', delayMs, error };
  }
}

function secretOf({ secret }: ClaimedMessage, configured: string | undefined): string | undefined {
  switch (secret.kind) {
    case 'none':
      return undefined;
    case 'configured':
      return configured;
    case 'own':
      return secret.value;
  }
}
