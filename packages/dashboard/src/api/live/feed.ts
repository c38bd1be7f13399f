/**
 * Follows the server's feed with one connection for the whole browser: HTTP/1.1 allows six per server, and a seventh tab
 * would hang. The tab that holds the lock reads the feed and tells the others over a channel. When it closes, the next
 * one gets the lock and continues at the cursor that it was told last.
 *
 * Every tab lists the runs itself when it opens. Changes carry whole heads and the newest wins, so it does not matter
 * in which order the list and the changes come.
 */
import { APIError, type Run, type Talaria } from '@talaria/client';
import { readKey } from '../key.ts';
import { UI_ROOT } from '../place.ts';
import { noteFailure } from '../session.ts';
import { isMissing, readQuestions, readRuns } from './follow.ts';
import { withHeads } from './heads.ts';
import { type Connection, connection, heads, questions, trouble } from './state.ts';
import { pause, untilVisible } from './waiting.ts';

type Told =
  | { kind: 'change'; run: Run; cursor: string | undefined }
  | { kind: 'connection'; connection: Connection }
  /** Changes may have been missed: list the runs again. */
  | { kind: 'list' }
  /** The server has no feed. */
  | { kind: 'missing' }
  /** A new tab wants to know how the feed is. */
  | { kind: 'hello' };

const RETRY_MS = 2_000;
const OFFLINE_AFTER_MS = 15_000;
const GATHER_MS = 100;

/** Locks need https or this machine's own address. Without them every tab polls, which holds no connection. */
export function canShareFeed(): boolean {
  return 'locks' in navigator && 'subtle' in crypto;
}

/** Until the signal aborts, or the server turns out to have no feed. */
export async function followFeed(client: Talaria, aborted: AbortSignal): Promise<void> {
  const name = await channelName();
  const ended = new AbortController();
  const signal = AbortSignal.any([aborted, ended.signal]);
  const tab = new FeedTab(client, name, signal, () => ended.abort());
  await tab.follow().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

class FeedTab {
  readonly #client: Talaria;
  readonly #name: string;
  readonly #signal: AbortSignal;
  readonly #onMissing: () => void;
  readonly #channel: BroadcastChannel;
  #cursor: string | undefined;
  /** The state of the feed, as the tab that reads it reports. */
  #told: Connection = 'connecting';
  #leads = false;
  #asking: Promise<void> | undefined;

  constructor(client: Talaria, name: string, signal: AbortSignal, onMissing: () => void) {
    this.#client = client;
    this.#name = name;
    this.#signal = signal;
    this.#onMissing = onMissing;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => this.#hear(data as Told);
    signal.addEventListener('abort', () => this.#channel.close());
  }

  async follow(): Promise<void> {
    await this.#list();
    this.#tell({ kind: 'hello' });
    await navigator.locks.request(this.#name, { signal: this.#signal }, () => this.#lead());
  }

  async #lead(): Promise<void> {
    this.#leads = true;
    while (!this.#signal.aborted) {
      try {
        await this.#read();
      } catch (error) {
        if (this.#signal.aborted) return;
        if (isMissing(error)) return this.#tellAll({ kind: 'missing' });
        noteFailure(error);
        trouble.value = error;
        this.#tellAll({ kind: 'connection', connection: 'reconnecting' });
        // The server no longer knows the cursor: everything is listed again.
        if (error instanceof APIError && error.status === 400) this.#cursor = undefined;
        await pause(RETRY_MS, this.#signal);
      }
    }
  }

  async #read(): Promise<void> {
    let offline: ReturnType<typeof setTimeout> | undefined;
    const isNew = this.#cursor === undefined;
    const feed = this.#client.feed({
      after: this.#cursor,
      signal: this.#signal,
      onConnection: ({ state }) => {
        if (state === 'open') {
          clearTimeout(offline);
          offline = undefined;
          trouble.value = undefined;
          this.#tellAll({ kind: 'connection', connection: 'live' });
          if (isNew) this.#tellAll({ kind: 'list' });
          return;
        }
        this.#tellAll({ kind: 'connection', connection: 'reconnecting' });
        const tellOffline = () => this.#tellAll({ kind: 'connection', connection: 'offline' });
        offline ??= setTimeout(tellOffline, OFFLINE_AFTER_MS);
      },
    });
    try {
      for await (const { run } of feed) {
        this.#tellAll({ kind: 'change', run, cursor: feed.cursor });
      }
    } finally {
      clearTimeout(offline);
    }
  }

  #hear(told: Told): void {
    switch (told.kind) {
      case 'change':
        this.#cursor = told.cursor ?? this.#cursor;
        heads.value = withHeads(heads.peek(), [told.run]);
        if (concernsQuestions(told.run)) this.#askLater();
        return;
      case 'connection':
        this.#told = told.connection;
        connection.value = told.connection;
        return;
      case 'list':
        void this.#list();
        return;
      case 'missing':
        this.#onMissing();
        return;
      case 'hello':
        if (this.#leads) this.#tell({ kind: 'connection', connection: connection.peek() });
    }
  }

  #tell(told: Told): void {
    if (!this.#signal.aborted) this.#channel.postMessage(told);
  }

  /** A channel does not bring its own messages back. */
  #tellAll(told: Told): void {
    this.#tell(told);
    this.#hear(told);
  }

  #list(): Promise<void> {
    return this.#insist(async () => {
      await readRuns(this.#client, this.#signal);
      await readQuestions(this.#client, this.#signal);
    });
  }

  /** Retries until a read succeeds: nobody answers a question that the page does not show. */
  async #insist(read: () => Promise<void>): Promise<void> {
    for (let failed = false; !this.#signal.aborted; failed = true) {
      try {
        await read();
        if (!failed) return;
        trouble.value = undefined;
        connection.value = this.#told;
        return;
      } catch (error) {
        if (this.#signal.aborted) return;
        noteFailure(error);
        trouble.value = error;
        if (isMissing(error)) return this.#onMissing();
        connection.value = navigator.onLine ? 'reconnecting' : 'offline';
        await pause(RETRY_MS, this.#signal);
      }
    }
  }

  /** A burst of changes asks once, and a hidden tab when it is shown. */
  #askLater(): void {
    this.#asking ??= (async () => {
      await pause(GATHER_MS, this.#signal);
      await untilVisible(this.#signal);
      this.#asking = undefined;
      await this.#insist(() => readQuestions(this.#client, this.#signal));
    })();
  }
}

function concernsQuestions(run: Run): boolean {
  return (
    run.status === 'waiting_for_approval' ||
    questions
      .peek()
      .some(({ approval, settledAt }) => settledAt === undefined && approval.run.run_id === run.run_id)
  );
}

/** Tabs with different keys see different runs. Names of locks are visible to other pages of this origin: no key. */
async function channelName(): Promise<string> {
  const bytes = new TextEncoder().encode(readKey() ?? '');
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const user = [...digest.subarray(0, 12)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `talaria feed ${UI_ROOT.pathname} ${user}`;
}
