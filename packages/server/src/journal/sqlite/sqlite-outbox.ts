/** `journal.outbox` of the embedded driver: writes through the writer thread, reads on the reader's connection. */
import type {
  ClaimedMessage,
  Due,
  MessageClaim,
  Outbox,
  OutboxCounts,
  Settlement,
  WebhookState,
} from '../outbox.ts';
import type { Wakeups } from '../wakeups.ts';
import type { OutboxReader } from './outbox-reader.ts';
import type { WriterClient } from './writer-client.ts';

export class SqliteOutbox implements Outbox {
  readonly #writer: WriterClient;
  readonly #reader: OutboxReader;
  readonly #now: () => number;
  readonly #wakeups: Wakeups;

  constructor(writer: WriterClient, reader: OutboxReader, wakeups: Wakeups, now: () => number) {
    this.#writer = writer;
    this.#reader = reader;
    this.#wakeups = wakeups;
    this.#now = now;
  }

  claim(claim: MessageClaim): Promise<ClaimedMessage[]> {
    return this.#writer.write.outbox.claim(claim);
  }

  async settle(
    { id, epoch }: Pick<ClaimedMessage, 'id' | 'epoch'>,
    settlement: Settlement,
  ): Promise<boolean> {
    const counted = await this.#writer.write.outbox.settle({ id, epoch }, settlement);
    if (counted && settlement.kind === 'returned') this.#wakeups.wakeOutbox();
    return counted;
  }

  async due(): Promise<Due> {
    return this.#reader.due(this.#now());
  }

  async state(runId: string): Promise<WebhookState | undefined> {
    return this.#reader.state(runId);
  }

  async counts(): Promise<OutboxCounts> {
    return this.#reader.counts(this.#now());
  }

  watch(listener: () => void): () => void {
    return this.#wakeups.watchOutbox(listener);
  }
}
