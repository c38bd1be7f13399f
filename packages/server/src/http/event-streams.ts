/** The open streams of this server, and the heartbeat that keeps proxies from closing them. */
import type { EventStream } from './event-stream.ts';

/** Together less than the ten seconds of silence the contract allows. */
const SILENT_MS = 5_000;
const CHECK_MS = 2_500;

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

  /** Cuts every stream; the clients come back with their cursors, to whoever serves them then. */
  close(): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.fail();
  }
}
