/** The part of the SQLite driver that keeps responses. */
import type { NextResponse, Responses, StoredResponse } from '../responses.ts';
import type { SessionRange } from '../sessions.ts';
import type { ResponsesReader } from './responses-reader.ts';
import type { WriterClient } from './writer-client.ts';

export class SqliteResponses implements Responses {
  readonly #writer: WriterClient;
  readonly #reader: ResponsesReader;

  constructor(writer: WriterClient, reader: ResponsesReader) {
    this.#writer = writer;
    this.#reader = reader;
  }

  async get(owner: string, responseId: string): Promise<StoredResponse | undefined> {
    return this.#reader.get(owner, responseId);
  }

  async input(owner: string, responseId: string): Promise<string | null | undefined> {
    return this.#reader.input(owner, responseId);
  }

  async context(owner: string, responseId: string): Promise<SessionRange> {
    return this.#reader.context(owner, responseId);
  }

  delete(owner: string, responseId: string): Promise<void> {
    return this.#writer.write.responses.delete(owner, responseId);
  }

  add(previous: StoredResponse, next: NextResponse): Promise<void> {
    return this.#writer.write.responses.addNext(previous, next);
  }

  async ofRun(runId: string): Promise<StoredResponse[]> {
    return this.#reader.ofRun(runId);
  }

  keep(responseId: string, snapshot: string): Promise<void> {
    return this.#writer.write.responses.keep(responseId, snapshot);
  }
}
