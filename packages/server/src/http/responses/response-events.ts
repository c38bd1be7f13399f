/**
 * The events of a response as its stream shows them, from any of them on.
 *
 * What they say stands partly in records that are no events (the arguments of a call, its whole output). So the log is
 * read beside the events: before a batch is delivered, the records up to its last event are there.
 *
 * Whoever comes back with a number is placed first: everything up to that event is folded and kept to itself.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isTerminalEvent, type ResponseEvent, TalariaError } from '@talaria/protocol';
import type { EventBatch, Subscriber } from '../../journal/feeds.ts';
import type { Journal, StoredEvent } from '../../journal/journal.ts';
import type { LogRecord } from '../../journal/records.ts';
import type { ResponseFold } from '../../responses/response-fold.ts';
import { toDelta } from '../../responses/response-log.ts';
import { interruption } from '../inline/run-failure.ts';
import { namedFrame } from '../inline/sse-frames.ts';
import type { StreamFormat } from '../stream-format.ts';

const PAGE = 1000;
const PAGE_CHARS = 256 * 1024;

export interface ResponseEventsOptions {
  runId: string;
  fold: ResponseFold;
  journal: Pick<Journal, 'readLog' | 'readEvents'>;
  subscribe(after: number, subscriber: Subscriber): () => void;
}

export class ResponseEvents implements StreamFormat {
  readonly closed = Buffer.alloc(0);
  readonly #options: ResponseEventsOptions;
  #open: Buffer;
  /** Read from the log and not told yet. */
  #records: LogRecord[] = [];
  #readPos = -1;
  #readSeq = -1;
  #after = -1;
  #ended = false;

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
    this.#open = encodeEvents(options.fold.open());
  }

  /** As if everything up to this event had been told. Throws `invalid_cursor` when there is no such event. */
  async skipTo(number: number): Promise<void> {
    const { fold, journal, runId } = this.#options;
    this.#open = Buffer.alloc(0);
    while (fold.lastNumber < number && !this.#ended) {
      const page = await journal.readEvents(runId, this.#after, PAGE, PAGE_CHARS);
      if (page.length === 0) break;
      await this.#readLogFor(page);
      for (const event of page) {
        const events = this.#tell(event);
        if (fold.lastNumber < number) continue;
        this.#open = encodeEvents(events.filter((told) => told.sequence_number > number));
        break;
      }
      // A long run has many pages, and others want to be served meanwhile.
      await nextTurn();
    }
    if (fold.lastNumber < number) {
      throw new TalariaError('invalid_cursor', {
        message: `The cursor ${number} is beyond the last event of the response, which is ${fold.lastNumber}`,
        param: 'starting_after',
      });
    }
  }

  get open(): Buffer {
    return this.#open;
  }

  /** The last event of the run that was told. */
  get after(): number {
    return this.#after;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Delivers what `encode` can tell. */
  readonly subscribe = (after: number, subscriber: Subscriber): (() => void) => {
    let attached = true;
    let work = Promise.resolve();
    /** One after the other, in the order they came. */
    const whenAttached = (next: () => void | Promise<void>): void => {
      work = work
        .then(() => (attached ? next() : undefined))
        .catch((error: unknown) => {
          if (attached) subscriber.fail(error);
        });
    };
    const detach = this.#options.subscribe(after, {
      deliver: (batch) =>
        whenAttached(async () => {
          await this.#readLogFor(batch);
          if (attached) subscriber.deliver(batch);
        }),
      ready: async () => {
        await work;
        await subscriber.ready?.();
      },
      fail: (error) => whenAttached(() => subscriber.fail(error)),
    });
    return () => {
      attached = false;
      detach();
    };
  };

  encode(batch: EventBatch): { bytes: Buffer; ended: boolean } {
    const bytes = encodeEvents(batch.flatMap((event) => this.#tell(event)));
    return { bytes, ended: this.#ended };
  }

  /** Not counted as an event: whoever comes back does so with the last real one. */
  interrupted(reason: TalariaError): Buffer {
    const { code, message, param } = interruption(reason, this.#options.runId);
    const sequence_number = this.#options.fold.lastNumber;
    return Buffer.from(namedFrame('error', { type: 'error', sequence_number, code, message, param }));
  }

  #tell(event: StoredEvent): ResponseEvent[] {
    const { fold } = this.#options;
    this.#after = event.seq;
    this.#ended = isTerminalEvent(event.event);
    if (event.event === 'message.delta') return fold.apply(toDelta(event));
    const upTo = this.#records.findIndex(({ seq }) => seq === event.seq);
    return this.#records.splice(0, upTo + 1).flatMap((record) => fold.apply(record));
  }

  async #readLogFor(events: readonly StoredEvent[]): Promise<void> {
    const last = events.findLast(({ event }) => event !== 'message.delta');
    if (last === undefined || last.seq <= this.#readSeq) return;
    const { journal, runId } = this.#options;
    const records = await journal.readLog(runId, this.#readPos);
    this.#records.push(...records);
    this.#readPos = records.at(-1)?.pos ?? this.#readPos;
    this.#readSeq = records.findLast(({ seq }) => seq !== null)?.seq ?? this.#readSeq;
  }
}

function encodeEvents(events: readonly ResponseEvent[]): Buffer {
  return Buffer.from(events.map((event) => namedFrame(event.type, event)).join(''));
}
