/** The part of the SQLite driver that keeps sessions. */
import type { SessionFiles } from '../checkpoints.ts';
import type {
  MessageRange,
  NewFork,
  NewSession,
  SessionChange,
  SessionFilter,
  SessionPage,
  Sessions,
  StoredMessage,
  StoredSession,
} from '../sessions.ts';
import type { SessionsReader } from './sessions-reader.ts';
import type { WriterClient } from './writer-client.ts';

export class SqliteSessions implements Sessions {
  readonly #writer: WriterClient;
  readonly #reader: SessionsReader;

  constructor(writer: WriterClient, reader: SessionsReader) {
    this.#writer = writer;
    this.#reader = reader;
  }

  async get(owner: string, sessionId: string): Promise<StoredSession | undefined> {
    return this.#reader.get(owner, sessionId);
  }

  async list(filter: SessionFilter): Promise<SessionPage> {
    return this.#reader.list(filter);
  }

  async messages(owner: string, sessionId: string, range: MessageRange): Promise<StoredMessage[]> {
    return this.#reader.messages(owner, sessionId, range);
  }

  async files(owner: string, sessionId: string): Promise<SessionFiles | undefined> {
    return this.#reader.files(owner, sessionId);
  }

  create(session: NewSession): Promise<StoredSession> {
    return this.#writer.write.sessions.create(session);
  }

  update(owner: string, sessionId: string, change: SessionChange): Promise<StoredSession> {
    return this.#writer.write.sessions.update(owner, sessionId, change);
  }

  fork(fork: NewFork): Promise<StoredSession> {
    return this.#writer.write.sessions.fork(fork);
  }

  delete(owner: string, sessionId: string): Promise<void> {
    return this.#writer.write.sessions.delete(owner, sessionId);
  }

  sweep(unusedMs: number, limit: number): Promise<number> {
    return this.#writer.write.sessions.sweep(unusedMs, limit);
  }
}
