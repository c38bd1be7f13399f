/**
 * Wake-ups between servers, by LISTEN and NOTIFY. They carry no data, except within a process, and may be lost, with the connection or with the
 * server that should have sent them. The tables are the truth, and a slow poll finds what nobody announced.
 *
 * They are sent after the commit, not in it: a transaction with a NOTIFY holds a lock of the whole database while it
 * commits, and so delays every other such commit by a disk write. Announcements that come while a notification is being
 * sent go out together in the next one.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { atMost } from '../../basics/at-most.ts';
import type { LogRecord } from '../records.ts';
import { type EventListener, Wakeups } from '../wakeups.ts';
import { Connection, type Hosts } from './connection.ts';
import { isAway } from './failures.ts';
import { joinServers } from './in-use.ts';
import { toQuery } from './prepared.ts';

const CHANNEL = 'talaria';
const RECONNECT_MS = 500;
const CLOSE_MS = 1_000;
const LOOK_MS = 3_000;
/** A notification holds 8000 bytes; a run id has 36. */
const IDS_MAX = 200;

/** Announcements that are not about one run. */
type Topic = 'queue' | 'jobs' | 'outbox' | 'changes';

const TOPICS: readonly Topic[] = ['queue', 'jobs', 'outbox', 'changes'];

interface Hints {
  events: Set<string>;
  posts: Set<string>;
  topics: Set<Topic>;
}

export interface AnnouncementsOptions {
  hosts: Hosts;
  /** Watches on one run, by run id: any change of the run wakes them. */
  lookAt(runIds: readonly string[]): Promise<Map<string, string>>;
}

export class Announcements {
  readonly #options: AnnouncementsOptions;
  readonly #server = randomBytes(6).toString('hex');
  readonly #wakeups = new Wakeups();
  readonly #watched = new Map<string, number>();
  readonly #closing = new AbortController();
  #seen = new Map<string, string>();
  #hints = noHints();
  #sending = false;
  #client: pg.Client | undefined;
  #done: Promise<unknown> = Promise.resolve();

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
  }

  /** Resolves when the first connection listens. */
  /** Waits this long for a database that is away. */
  async start(waitMs: number): Promise<void> {
    const first = await this.#listenFirst(performance.now() + waitMs);
    this.#done = Promise.all([this.#keepListening(first), this.#keepLooking()]);
  }

  /** In bounded time: the other end of the connection may be gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    const ended = this.#client?.end().catch(() => {});
    await atMost(CLOSE_MS, Promise.all([ended, this.#done]));
  }

  /** Tells all watchers: those here at once, those on other servers soon. An event is also a change. */
  events(runId: string, ended: boolean, records: readonly LogRecord[]): void {
    this.#wakeups.wakeEvents(runId, ended, records);
    this.#wakeups.wakeChanges();
    this.#hints.events.add(runId);
    this.#sendSoon();
  }

  posts(runId: string): void {
    this.#wakeups.wakePosts(runId);
    this.#hints.posts.add(runId);
    this.#sendSoon();
  }

  queue(): void {
    this.#announce('queue');
  }

  jobs(): void {
    this.#announce('jobs');
  }

  outbox(): void {
    this.#announce('outbox');
  }

  changes(): void {
    this.#announce('changes');
  }

  watchEvents(runId: string, listener: EventListener): () => void {
    return this.#watch(runId, this.#wakeups.watchEvents(runId, listener));
  }

  watchPosts(runId: string, listener: () => void): () => void {
    return this.#watch(runId, this.#wakeups.watchPosts(runId, listener));
  }

  watchQueue(listener: () => void): () => void {
    return this.#wakeups.watchQueue(listener);
  }

  watchJobs(listener: () => void): () => void {
    return this.#wakeups.watchJobs(listener);
  }

  watchOutbox(listener: () => void): () => void {
    return this.#wakeups.watchOutbox(listener);
  }

  watchChanges(listener: () => void): () => void {
    return this.#wakeups.watchChanges(listener);
  }

  #announce(topic: Topic): void {
    this.#wake(topic);
    this.#hints.topics.add(topic);
    this.#sendSoon();
  }

  #wake(topic: Topic): void {
    if (topic === 'queue') this.#wakeups.wakeQueue();
    else if (topic === 'jobs') this.#wakeups.wakeJobs();
    else if (topic === 'changes') this.#wakeups.wakeChanges();
    else this.#wakeups.wakeOutbox();
  }

  #watch(runId: string, unwatch: () => void): () => void {
    this.#watched.set(runId, (this.#watched.get(runId) ?? 0) + 1);
    let watching = true;
    return () => {
      unwatch();
      if (!watching) return;
      watching = false;
      const left = (this.#watched.get(runId) ?? 1) - 1;
      if (left > 0) this.#watched.set(runId, left);
      else this.#watched.delete(runId);
    };
  }

  #sendSoon(): void {
    if (this.#sending) return;
    this.#sending = true;
    queueMicrotask(() => void this.#send());
  }

  async #send(): Promise<void> {
    while (!isEmpty(this.#hints) && this.#client !== undefined) {
      const payload = encode(this.#server, this.#hints);
      this.#hints = noHints();
      // Lost with its connection: the others find out by polling.
      await this.#client.query(toQuery('SELECT pg_notify($1, $2)', [CHANNEL, payload])).catch(() => {});
    }
    this.#hints = noHints();
    this.#sending = false;
  }

  async #listen(): Promise<{ ended: Promise<void> }> {
    const client = new Connection({ hosts: this.#options.hosts });
    const ended = new Promise<void>((resolve) => {
      client.on('end', () => resolve());
      client.on('error', () => resolve());
    });
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''));
    try {
      await client.connect();
      await joinServers(client);
      // A notification is a commit. It need not outlive anything, so it does not wait for the disk.
      await client.query(`SET synchronous_commit = off; LISTEN ${CHANNEL}`);
      this.#closing.signal.throwIfAborted();
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    return { ended };
  }

  async #listenFirst(until: number): Promise<{ ended: Promise<void> }> {
    for (;;) {
      try {
        return await this.#listen();
      } catch (error) {
        if (!isAway(error) || performance.now() > until) throw error;
        await delay(RECONNECT_MS);
      }
    }
  }

  async #keepListening(first: { ended: Promise<void> }): Promise<void> {
    let { ended } = first;
    while (!this.#closing.signal.aborted) {
      await ended;
      this.#client = undefined;
      while (!this.#closing.signal.aborted) {
        try {
          ({ ended } = await this.#listen());
          // Whatever was announced meanwhile is lost.
          this.#wakeAll();
          break;
        } catch {
          await delay(RECONNECT_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
        }
      }
    }
  }

  async #keepLooking(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await delay(LOOK_MS, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
      if (this.#closing.signal.aborted) continue;
      this.#wakeups.wakeChanges();
      if (this.#watched.size === 0) continue;
      try {
        const seen = await this.#options.lookAt([...this.#watched.keys()]);
        for (const [runId, mark] of seen) {
          // Also at the first poll: nobody knows what happened between the watcher's last read and now.
          if (this.#seen.get(runId) !== mark) this.#wakeRun(runId);
        }
        this.#seen = seen;
      } catch {
        // The database is unavailable, which others report; the next poll may succeed.
      }
    }
  }

  #receive(payload: string): void {
    const announcement = decode(payload);
    if (announcement === undefined) {
      this.#wakeAll();
      return;
    }
    const { server, events, posts, topics } = announcement;
    if (server === this.#server) return;
    if (events === 'all' || posts === 'all') this.#wakeAll();
    else {
      for (const runId of events) this.#wakeups.wakeEvents(runId, false);
      for (const runId of posts) this.#wakeups.wakePosts(runId);
    }
    if (events.length > 0) this.#wakeups.wakeChanges();
    for (const topic of topics) this.#wake(topic);
  }

  #wakeAll(): void {
    for (const runId of this.#watched.keys()) this.#wakeRun(runId);
    for (const topic of TOPICS) this.#wake(topic);
  }

  #wakeRun(runId: string): void {
    this.#wakeups.wakeEvents(runId, false);
    this.#wakeups.wakePosts(runId);
  }
}

function noHints(): Hints {
  return { events: new Set(), posts: new Set(), topics: new Set() };
}

function isEmpty({ events, posts, topics }: Hints): boolean {
  return events.size + posts.size + topics.size === 0;
}

interface Announcement {
  server: string;
  events: string[] | 'all';
  posts: string[] | 'all';
  topics: Topic[];
}

function encode(server: string, { events, posts, topics }: Hints): string {
  const tooMany = events.size + posts.size > IDS_MAX;
  const announcement: Announcement = {
    server,
    events: tooMany ? 'all' : [...events],
    posts: tooMany ? 'all' : [...posts],
    topics: [...topics],
  };
  return JSON.stringify(announcement);
}

/** Undefined for a message that is not ours: anybody who may connect may also notify. */
function decode(payload: string): Announcement | undefined {
  try {
    const { server, events, posts, topics } = JSON.parse(payload) as Announcement;
    const lists = [events === 'all' ? [] : events, posts === 'all' ? [] : posts, topics];
    return lists.every(Array.isArray) ? { server, events, posts, topics } : undefined;
  } catch {
    return undefined;
  }
}
