/** The open streams of this server, and the heartbeat that keeps proxies from closing them. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventStream } from './event-stream.ts';

/** Together less than the ten seconds of silence the contract allows. */
const SILENT_MS = 5_000;
const CHECK_MS = 2_500;

/** Well over the time events are gathered for before they leave. */
const LAST_EVENTS_MS = 100;

export class EventStreams {
  readonly #streams = new Set<EventStream>();
  readonly #timer = setInterval(() => {
    for (const stream of this.#streams) stream.keepAlive(SILENT_MS);
  }, CHECK_MS);

  add(stream: EventStream): void {
    this.#streams.add(stream);
  }

  delete(stream: EventStream): void {
    this.#streams.delete(stream);
  }

  /**
   * Cuts every stream; the clients come back with their cursors, to whoever serves them then. What became durable
   * just now goes out first: often it is the end of the run, after which nobody has to come back.
   */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#streams.size > 0) await delay(LAST_EVENTS_MS);
    for (const stream of this.#streams) stream.fail();
  }
}
