import type { EventName } from '@talaria/protocol';
import { TransientMap } from '../basics/transient-map.ts';
import type { StoredEvent } from './journal.ts';
import type { LogRecord } from './records.ts';

/**
 * `ended`: a hint that the last event of the run is there; it may also be there without the hint. `events`: the events that
 * became durable, in order. Without them, or if events are missing before them, the listener has to read.
 */
export type EventListener = (ended: boolean, events?: readonly StoredEvent[]) => void;

/** Wakes the listeners in this process. They run in the caller's turn and must not throw. */
export class Wakeups {
  readonly #events = new TransientMap<Set<EventListener>>();
  readonly #posts = new TransientMap<Set<() => void>>();
  readonly #queue = new Set<() => void>();
  readonly #jobs = new Set<() => void>();
  readonly #outbox = new Set<() => void>();
  readonly #changes = new Set<() => void>();

  watchEvents(runId: string, listener: EventListener): () => void {
    return watch(this.#events, runId, listener);
  }

  watchPosts(runId: string, listener: () => void): () => void {
    return watch(this.#posts, runId, listener);
  }

  watchQueue(listener: () => void): () => void {
    return watchAll(this.#queue, listener);
  }

  watchJobs(listener: () => void): () => void {
    return watchAll(this.#jobs, listener);
  }

  watchOutbox(listener: () => void): () => void {
    return watchAll(this.#outbox, listener);
  }

  watchChanges(listener: () => void): () => void {
    return watchAll(this.#changes, listener);
  }

  /** `records`: those that became durable, if they are at hand. */
  wakeEvents(runId: string, ended: boolean, records?: readonly LogRecord[]): void {
    const listeners = this.#events.get(runId);
    if (listeners === undefined) return;
    const events = records?.flatMap(toEvent);
    for (const listener of listeners) listener(ended, events);
  }

  wakePosts(runId: string): void {
    for (const listener of this.#posts.get(runId) ?? []) listener();
  }

  wakeQueue(): void {
    for (const listener of this.#queue) listener();
  }

  wakeJobs(): void {
    for (const listener of this.#jobs) listener();
  }

  wakeOutbox(): void {
    for (const listener of this.#outbox) listener();
  }

  wakeChanges(): void {
    for (const listener of this.#changes) listener();
  }
}

function toEvent({ seq, event, at, public: payload }: LogRecord): StoredEvent[] {
  return seq === null ? [] : [{ seq, event: event as EventName, at, payload: JSON.stringify(payload) }];
}

function watch<A extends unknown[]>(
  watchers: TransientMap<Set<(...args: A) => void>>,
  runId: string,
  listener: (...args: A) => void,
): () => void {
  let listeners = watchers.get(runId);
  if (listeners === undefined) {
    listeners = new Set();
    watchers.set(runId, listeners);
  }
  const unwatch = watchAll(listeners, listener);
  return () => {
    unwatch();
    if (listeners.size === 0 && watchers.get(runId) === listeners) watchers.delete(runId);
  };
}

/** One entry per watch, so that watching twice with one function is two watches. */
function watchAll<A extends unknown[]>(
  listeners: Set<(...args: A) => void>,
  listener: (...args: A) => void,
): () => void {
  const entry = (...args: A) => listener(...args);
  listeners.add(entry);
  return () => listeners.delete(entry);
}
