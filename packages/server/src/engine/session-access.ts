/**
 * What the rest of the server can do with sessions, in the name of one owner. Like `Engine` it holds no state.
 */
import {
  createId,
  type ForkSession,
  type Session,
  type SessionList,
  type SessionMessageList,
  TalariaError,
} from '@talaria/protocol';
import type { Sessions, StoredSession } from '../journal/sessions.ts';
import { type Masks, toWireMessage, toWireSession } from './wire-session.ts';

/** A page is made in memory: it ends after this much, long before 200 long outputs of tools. */
const PAGE_CHARS_MAX = 4_000_000;

export class SessionAccess {
  readonly #sessions: Sessions;
  readonly #masks: Masks;

  constructor(sessions: Sessions, masks: Masks) {
    this.#sessions = sessions;
    this.#masks = masks;
  }

  async get(owner: string, sessionId: string): Promise<Session> {
    return toWireSession(await this.#find(owner, sessionId));
  }

  async list(owner: string, page: { limit: number; after?: string | undefined }): Promise<SessionList> {
    const { sessions, next } = await this.#sessions.list({ owner, ...page });
    return {
      object: 'list',
      data: sessions.map(toWireSession),
      has_more: next !== undefined,
      next_cursor: next ?? null,
    };
  }

  /** The messages after the one with the index `after`, oldest first. */
  async messages(
    owner: string,
    sessionId: string,
    { limit, after = -1 }: { limit: number; after?: number | undefined },
  ): Promise<SessionMessageList> {
    const { nextPos } = await this.#find(owner, sessionId);
    if (after >= nextPos) {
      const message = `The index ${after} is beyond the last message, which is ${nextPos - 1}`;
      throw new TalariaError('invalid_cursor', { message, param: 'after' });
    }
    const range = { from: after + 1, limit, maxChars: PAGE_CHARS_MAX };
    const messages = await this.#sessions.messages(owner, sessionId, range);
    const last = messages.at(-1)?.pos ?? after;
    const more = last + 1 < nextPos;
    return {
      object: 'list',
      session_id: sessionId,
      data: messages.map((message) => toWireMessage(message, this.#masks)),
      has_more: more,
      next_cursor: more ? String(last) : null,
    };
  }

  async fork(owner: string, sessionId: string, { sessionId: name, messages }: ForkSession): Promise<Session> {
    const { nextPos } = await this.#find(owner, sessionId);
    if (messages !== undefined && messages > nextPos) {
      const message = `'messages' must be at most ${nextPos}, which is how many the session has`;
      throw new TalariaError('invalid_request', { message, param: 'messages' });
    }
    const upTo = messages === undefined ? undefined : await this.#wholeUpTo(owner, sessionId, messages);
    const into = name ?? createId('sess');
    return toWireSession(await this.#sessions.fork({ owner, from: sessionId, into, upTo }));
  }

  delete(owner: string, sessionId: string): Promise<void> {
    return this.#sessions.delete(owner, sessionId);
  }

  /** So many messages or a few fewer: no provider takes a call without its result, so a cut between them goes before both. */
  async #wholeUpTo(owner: string, sessionId: string, count: number): Promise<number> {
    for (let end = count; end > 0; end -= 1) {
      const [next] = await this.#sessions.messages(owner, sessionId, { from: end, limit: 1 });
      if (next?.message.role !== 'tool') return end;
    }
    return 0;
  }

  async #find(owner: string, sessionId: string): Promise<StoredSession> {
    const session = await this.#sessions.get(owner, sessionId);
    if (session === undefined) throw new TalariaError('session_not_found');
    return session;
  }
}
