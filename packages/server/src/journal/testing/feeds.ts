/** Subscribers and a source of events under a test's control. */
import { type EventName, isTerminalEvent } from '@talaria/protocol';
import type { EventBatch, Feeds } from '../feeds.ts';
import type { Journal, StoredEvent } from '../journal.ts';
import type { EventListener } from '../wakeups.ts';

export interface Collected {
  events: StoredEvent[];
  failures: unknown[];
  /** Resolves with the terminal event. */
  ended: Promise<void>;
  seqs(): number[];
  detach(): void;
}

export interface CollectOptions {
  /** Detach after about this many events, and attach again at the cursor in a later turn. */
  leaveAfter?: number | undefined;
  onBatch?(batch: EventBatch): void;
  onFail?(error: unknown): void;
  ready?(): Promise<void>;
}

export function collect(feeds: Feeds, runId: string, afterSeq = -1, options: CollectOptions = {}): Collected {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let left = options.leaveAfter ?? Number.POSITIVE_INFINITY;
  const attach = (cursor: number) =>
    feeds.attach(runId, cursor, {
      deliver(batch) {
        collected.events.push(...batch);
        options.onBatch?.(batch);
        const last = batch.at(-1)!;
        if (isTerminalEvent(last.event)) return end();
        left -= batch.length;
        if (left > 0) return;
        left = Number.POSITIVE_INFINITY;
        collected.detach();
        setImmediate(() => {
          collected.detach = attach(last.seq);
        });
      },
      fail(error) {
        collected.failures.push(error);
        options.onFail?.(error);
      },
      ...(options.ready && { ready: options.ready }),
    });
  const collected: Collected = {
    events: [],
    failures: [],
    ended,
    seqs: () => collected.events.map(({ seq }) => seq),
    detach: () => {},
  };
  collected.detach = attach(afterSeq);
  return collected;
}

/** A read that waits for its answer, with the data from when it was asked. */
export interface PendingRead {
  afterSeq: number;
  answer(): Promise<void>;
  refuse(error: Error): Promise<void>;
}

/** A journal of one run in memory; the test answers its reads, in any order. */
export class ManualSource implements Pick<Journal, 'readEvents' | 'watchEvents'> {
  readonly reads: PendingRead[] = [];
  readonly #events: StoredEvent[] = [];
  readonly #listeners = new Set<EventListener>();

  get watchers(): number {
    return this.#listeners.size;
  }

  append(count = 1, event: EventName = 'message.delta'): void {
    this.#store(count, event);
    for (const listener of this.#listeners) listener(isTerminalEvent(event));
  }

  /** Appends, and brings the events with the wake-up. */
  bring(count = 1, event: EventName = 'message.delta'): void {
    const events = this.#store(count, event);
    for (const listener of this.#listeners) listener(isTerminalEvent(event), events);
  }

  #store(count: number, event: EventName): StoredEvent[] {
    const first = this.#events.length;
    for (let i = 0; i < count; i++) this.#events.push({ seq: first + i, event, at: 0, payload: '{}' });
    return this.#events.slice(first);
  }

  readEvents(_runId: string, afterSeq: number, limit: number): Promise<StoredEvent[]> {
    const page = this.#events.slice(Math.max(0, afterSeq + 1), afterSeq + 1 + limit);
    const { promise, resolve, reject } = Promise.withResolvers<StoredEvent[]>();
    this.reads.push({
      afterSeq,
      answer: () => settled(() => resolve(page)),
      refuse: (error) => settled(() => reject(error)),
    });
    return promise;
  }

  watchEvents(_runId: string, listener: EventListener): () => void {
    const entry: EventListener = (ended, events) => listener(ended, events);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }
}

/** Waits until everything that follows without timers has happened. */
async function settled(act: () => void): Promise<void> {
  act();
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
