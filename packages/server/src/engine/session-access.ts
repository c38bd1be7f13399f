/**
 * What the rest of the server can do with sessions, for one owner. Like `Engine` it holds no state.
 */
import {
  type CreateSession,
  createId,
  createSessionId,
  type ForkSession,
  type Session,
  type SessionList,
  type SessionMessageList,
  TalariaError,
  type UpdateSession,
} from '@talaria/protocol';
import type { Checkpoints } from '../checkpoints/checkpoint-tree.ts';
import type { Journal } from '../journal/journal.ts';
import type {
  ForkedFiles,
  MessageRange,
  SessionFilter,
  Sessions,
  StoredSession,
} from '../journal/sessions.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { type ForkFilesOptions, type FoundForkFiles, findForkFiles, NOW } from './session-fork-files.ts';
import { toWireMessage, toWireSession } from './wire-session.ts';

/** A page is built in memory: it ends after this many characters, long before 200 long tool outputs. */
const PAGE_CHARS_MAX = 4_000_000;

export interface SessionAccessOptions {
  journal: ForkFilesOptions['journal'] & Pick<Journal, 'responses'>;
  /** Undefined if the server keeps none. */
  checkpoints: Checkpoints | undefined;
  secrets: Secrets;
  /** The name of the server's model. */
  modelName: string;
}

/** Which messages: those after an index, or this many from one end. */
export type MessagePage = { limit: number } & (
  | { after?: number | undefined }
  | { order: 'oldest' | 'latest'; offset: number }
);

export class SessionAccess {
  readonly #sessions: Sessions;
  readonly #options: SessionAccessOptions;

  constructor(options: SessionAccessOptions) {
    this.#sessions = options.journal.sessions;
    this.#options = options;
  }

  async get(owner: string, sessionId: string): Promise<Session> {
    return this.#toWire(await this.#find(owner, sessionId));
  }

  async create(
    owner: string,
    { sessionId: name, requiresModel, ...session }: CreateSession,
  ): Promise<Session> {
    // Every session uses the server's model, so a session for that model is already locked to it.
    if (requiresModel && session.model !== this.#options.modelName) {
      throw new TalariaError('model_lock_unavailable', { param: 'model' });
    }
    for (;;) {
      const sessionId = name ?? createSessionId();
      try {
        return this.#toWire(
          await this.#named(sessionId, this.#sessions.create({ owner, sessionId, ...session })),
        );
      } catch (error) {
        // A generated name is short, and may have been generated twice.
        const taken = error instanceof TalariaError && error.code === 'session_exists';
        if (name !== undefined || !taken) throw error;
      }
    }
  }

  async update(owner: string, sessionId: string, change: UpdateSession): Promise<Session> {
    return this.#toWire(await this.#named(sessionId, this.#sessions.update(owner, sessionId, change)));
  }

  async list(owner: string, filter: Omit<SessionFilter, 'owner'>): Promise<SessionList> {
    const { sessions, next } = await this.#sessions.list({ owner, ...filter });
    return {
      object: 'list',
      data: sessions.map((session) => this.#toWire(session)),
      has_more: next !== undefined,
      next_cursor: next ?? null,
      limit: filter.limit,
      offset: filter.offset ?? 0,
    };
  }

  /** In the order in which they were said. */
  async messages(owner: string, sessionId: string, page: MessagePage): Promise<SessionMessageList> {
    const { nextPos } = await this.#find(owner, sessionId);
    const range = toRange(page, nextPos);
    const messages = await this.#sessions.messages(owner, sessionId, { ...range, maxChars: PAGE_CHARS_MAX });
    const first = messages[0]?.pos ?? range.from;
    const after = messages.at(-1)?.pos ?? range.from - 1;
    const latest = range.latest === true;
    const more = latest ? messages.length > 0 && first > 0 : after + 1 < nextPos;
    return {
      object: 'list',
      session_id: sessionId,
      data: messages.map((message) => toWireMessage(sessionId, message, this.#options.secrets)),
      has_more: more,
      next_cursor: more && !latest && after >= 0 ? String(after) : null,
      pagination: {
        limit: page.limit,
        offset: latest && 'offset' in page ? page.offset : range.from,
        order: latest ? 'latest' : 'oldest',
        returned: messages.length,
      },
    };
  }

  /** The files of the fork that a response needs to continue this one; the session's own if it needs none, or they are gone. */
  async filesAfterResponse(owner: string, responseId: string): Promise<ForkedFiles> {
    const context = await this.#options.journal.responses.context(owner, responseId).catch(ignoreRefusal);
    if (context === undefined) return undefined;
    const { sessionId, to: upTo } = context;
    const session = await this.#sessions.get(owner, sessionId);
    if (session === undefined || session.nextPos === upTo) return undefined;
    const found = await findForkFiles(this.#options, { owner, sessionId, upTo });
    return found.asOf === 'now' ? undefined : found.files;
  }

  async fork(
    owner: string,
    sessionId: string,
    { sessionId: name, messages, title }: ForkSession,
  ): Promise<{ session: Session; filesAsOf: FoundForkFiles['asOf'] }> {
    const { nextPos } = await this.#find(owner, sessionId);
    if (messages !== undefined && messages > nextPos) {
      const message = `'messages' must be at most ${nextPos}, which is how many the session has`;
      throw new TalariaError('invalid_request', { message, param: 'messages' });
    }
    const upTo = messages === undefined ? undefined : await this.#wholeUpTo(owner, sessionId, messages);
    const found: FoundForkFiles =
      upTo === undefined ? NOW : await findForkFiles(this.#options, { owner, sessionId, upTo });
    const into = name ?? createId('sess');
    const fork = { owner, from: sessionId, into, upTo, title };
    const forkWith = async ({ asOf, ...files }: FoundForkFiles) => {
      const forked = await this.#named(into, this.#sessions.fork({ ...fork, ...files }));
      return { session: this.#toWire(forked), filesAsOf: asOf };
    };
    try {
      return await forkWith(found);
    } catch (error) {
      // The run that had the files was evicted meanwhile.
      if (error instanceof TalariaError && error.code === 'run_not_found') return forkWith(NOW);
      throw error;
    }
  }

  delete(owner: string, sessionId: string): Promise<void> {
    return this.#named(sessionId, this.#sessions.delete(owner, sessionId));
  }

  /** The instructions for every run in it; undefined also if there is no such session yet. */
  async systemPrompt(owner: string, sessionId: string): Promise<string | undefined> {
    return (await this.#sessions.get(owner, sessionId))?.systemPrompt ?? undefined;
  }

  /**
   * This many messages or a few fewer: no provider accepts a call without its result, so a cut between them moves
   * before both.
   */
  async #wholeUpTo(owner: string, sessionId: string, count: number): Promise<number> {
    for (let end = count; end > 0; end -= 1) {
      const [next] = await this.#sessions.messages(owner, sessionId, { from: end, limit: 1 });
      if (next?.message.role !== 'tool') return end;
    }
    return 0;
  }

  async #find(owner: string, sessionId: string): Promise<StoredSession> {
    const session = await this.#sessions.get(owner, sessionId);
    if (session === undefined) throw notFound(sessionId);
    return session;
  }

  /** The store gives the reason; the messages that clients look for are made here. */
  async #named<T>(sessionId: string, done: Promise<T>): Promise<T> {
    try {
      return await done;
    } catch (error) {
      const code = error instanceof TalariaError ? error.code : undefined;
      if (code === 'session_not_found') throw notFound(sessionId);
      if (code === 'session_exists') {
        throw new TalariaError('session_exists', {
          message: `Session already exists: ${sessionId}`,
          param: 'id',
        });
      }
      throw error;
    }
  }

  #toWire(session: StoredSession): Session {
    return toWireSession(session, this.#options.modelName, this.#options.secrets);
  }
}

function notFound(sessionId: string): TalariaError {
  return new TalariaError('session_not_found', { message: `Session not found: ${sessionId}` });
}

function toRange(page: MessagePage, nextPos: number): MessageRange {
  const { limit } = page;
  if ('order' in page) {
    if (page.order === 'oldest') return { from: page.offset, limit };
    const to = Math.max(0, nextPos - page.offset);
    return { from: 0, to, limit, latest: true };
  }
  const { after = -1 } = page;
  if (after >= nextPos) {
    const message = `The index ${after} is beyond the last message, which is ${nextPos - 1}`;
    throw new TalariaError('invalid_cursor', { message, param: 'after' });
  }
  return { from: after + 1, limit };
}

/** Ignored here, because creating the run reports why the response cannot be continued. */
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof TalariaError)) throw error;
}
