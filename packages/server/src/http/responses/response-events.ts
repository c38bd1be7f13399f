/**
 * The events of a response as its stream shows them, from any position.
 *
 * Part of their content is in records that are not events (the arguments of a call, its whole output). So the log is
 * read beside the events: before an event is delivered, the records up to it have been read. They may be many times as
 * long as the event, so events are delivered one by one, and reading stops when the reader has enough.
 *
 * A reader that comes back with a number is positioned first: everything up to that event is folded without being sent.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ErrorBody, type ResponseEvent, TalariaError, toErrorBody } from '@talaria/protocol';
import type { EventBatch, Subscriber } from '../../journal/feeds.ts';
import type { Journal, StoredEvent } from '../../journal/journal.ts';
import type { LogRecord } from '../../journal/records.ts';
import type { ResponseFold } from '../../responses/response-fold.ts';
import { toDelta } from '../../responses/response-log.ts';
import { LASTING_CODE, toLastingError } from '../inline/client-traits.ts';
import { endsAnswer } from '../inline/inline-runs.ts';
import { interruption } from '../inline/run-failure.ts';
import { namedFrame } from '../streams/sse-frames.ts';
import type { StreamFormat } from '../streams/stream-format.ts';

const PAGE = 1000;
const PAGE_CHARS = 256 * 1024;

export interface ResponseEventsOptions {
  runId: string;
  /** The last event of the run before the response; -1 for none. */
  afterSeq?: number;
  fold: ResponseFold;
  journal: Pick<Journal, 'readLog' | 'readEvents'>;
  /** Whether the client would start a failed stream again, unless the code says that the failure lasts. */
  restartsStreams?: boolean;
  subscribe(after: number, subscriber: Subscriber): () => void;
}

export class ResponseEvents implements StreamFormat {
  readonly closed = Buffer.alloc(0);
  readonly #options: ResponseEventsOptions;
  #open: Buffer;
  /** Read from the log and not sent yet. */
  #records: LogRecord[] = [];
  #readPos = -1;
  #readSeq = -1;
  /** Whether the log was read up to the beginning of the response. */
  #found: boolean;
  #after: number;
  #ended = false;
  /** Deliveries happen one after the other, also those to a reader that has attached again. */
  #work = Promise.resolve();

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
    const { afterSeq = -1 } = options;
    this.#after = afterSeq;
    this.#found = afterSeq === -1;
    this.#open = this.#encoded(options.fold.open());
  }

  /** Continues as if everything up to this event had been sent. Throws `invalid_cursor` when there is no such event. */
  async skipTo(number: number): Promise<void> {
    const { fold, journal, runId } = this.#options;
    this.#open = Buffer.alloc(0);
    while (fold.lastNumber < number && !this.#ended) {
      const page = await journal.readEvents(runId, this.#after, PAGE, PAGE_CHARS);
      if (page.length === 0) break;
      for (const event of page) {
        await this.#readLogFor(event);
        const events = this.#tell(event);
        if (fold.lastNumber < number && !this.#ended) continue;
        this.#open = this.#encoded(events.filter((told) => told.sequence_number > number));
        break;
      }
      // A long run has many pages, and other requests need their turn.
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

  /** The last event of the run that was sent. */
  get after(): number {
    return this.#after;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Delivers what `encode` returns. */
  readonly subscribe = (after: number, subscriber: Subscriber): (() => void) => {
    let attached = true;
    const whenAttached = (next: () => void | Promise<void>): void => {
      this.#work = this.#work
        .then(() => (attached ? next() : undefined))
        .catch((error: unknown) => {
          if (attached) subscriber.fail(error);
        });
    };
    const detach = this.#options.subscribe(after, {
      deliver: (batch) =>
        whenAttached(async () => {
          for (const piece of toPieces(batch)) {
            const last = piece.at(-1)!;
            await this.#readLogFor(last);
            if (!attached) return;
            subscriber.deliver(piece);
            // Not accepted: the reader is behind, and attaches again for the rest.
            if (this.#after < last.seq) return;
          }
        }),
      ready: async () => {
        await this.#work;
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
    const bytes = this.#encoded(batch.flatMap((event) => this.#tell(event)));
    return { bytes, ended: this.#ended };
  }

  interrupted(reason: TalariaError): Buffer {
    const { error } = toErrorBody(interruption(reason, this.#options.runId));
    return Buffer.from(errorFrame(error, this.#options.fold.lastNumber));
  }

  /** Many clients overlook `response.failed` and end as if there were an answer; they know an error. */
  #encoded(events: readonly ResponseEvent[]): Buffer {
    return Buffer.from(
      events.map((event) => (isFailure(event) ? this.#failed(event) : frame(event))).join(''),
    );
  }

  #failed(event: FailedEvent): string {
    const { response, sequence_number } = event;
    const { code, message } = response.error ?? { code: 'internal_error', message: '' };
    const shown = this.#options.restartsStreams === true ? LASTING_CODE : code;
    const error = { type: 'server_error', param: null, code, message };
    return (
      frame({ ...event, response: { ...response, error: { code: shown, message } } }) +
      errorFrame(error, sequence_number)
    );
  }

  #tell(event: StoredEvent): ResponseEvent[] {
    const { fold } = this.#options;
    this.#after = event.seq;
    this.#ended ||= endsAnswer(event.event);
    if (event.event === 'message.delta') return fold.apply(toDelta(event));
    const upTo = this.#records.findIndex(({ seq }) => seq === event.seq);
    return this.#records.splice(0, upTo + 1).flatMap((record) => fold.apply(record));
  }

  async #readLogFor({ event, seq }: StoredEvent): Promise<void> {
    if (event === 'message.delta') return;
    const { journal, runId } = this.#options;
    while (this.#readSeq < seq) {
      const records = await journal.readLog(runId, this.#readPos, PAGE_CHARS);
      if (records.length === 0) return;
      this.#records.push(...this.#ownOf(records));
      this.#readPos = records.at(-1)!.pos;
      this.#readSeq = records.findLast((record) => record.seq !== null)?.seq ?? this.#readSeq;
    }
  }

  /** Without the records of an earlier response of the same run. */
  #ownOf(records: readonly LogRecord[]): readonly LogRecord[] {
    if (this.#found) return records;
    const begin = records.findIndex(({ seq }) => seq === this.#options.afterSeq) + 1;
    this.#found = begin > 0;
    return this.#found ? records.slice(begin) : [];
  }
}

/** Each part ends with the first event in it that is read from the log. */
function toPieces(batch: EventBatch): EventBatch[] {
  const pieces: EventBatch[] = [];
  let from = 0;
  for (const [i, { event }] of batch.entries()) {
    if (event === 'message.delta' && i < batch.length - 1) continue;
    pieces.push(batch.slice(from, i + 1) as unknown as EventBatch);
    from = i + 1;
  }
  return pieces;
}

type FailedEvent = Extract<ResponseEvent, { type: 'response.failed' }>;

const isFailure = (event: ResponseEvent): event is FailedEvent => event.type === 'response.failed';

const frame = (event: ResponseEvent): string => namedFrame(event.type, event);

/**
 * Clients read the error at one of two places. It does not count as an event: a reader comes back with the number of the
 * last real one.
 */
function errorFrame(error: ErrorBody['error'], sequence_number: number): string {
  const { code, message, param } = error;
  const nested = toLastingError(error);
  return namedFrame('error', { type: 'error', sequence_number, code, message, param, error: nested });
}
