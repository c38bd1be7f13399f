/** `/api/sessions`: stored transcripts by session id. */
import {
  type CreateSessionRequest,
  createId,
  type ForkedSession,
  type ForkSessionRequest,
  type Session,
  type SessionAnswer,
  type SessionChatCompletion,
  type SessionChatRequest,
  type SessionDeleted,
  type SessionList,
  type SessionMessage,
  type SessionMessageList,
  type UpdateSessionRequest,
} from '@talaria/protocol';
import { isList, isPage, type PageQuery, Pages } from '../pages.ts';
import type { Params } from '../params.ts';
import { type Call, type RequestOptions, segment, type Transport } from '../transport.ts';
import { ANSWER_TIMEOUT_MS, type SessionOptions, sessionHeaders } from './session.ts';
import { SessionChatStream } from './session-chat.ts';

export type CreateSessionParams = Params<CreateSessionRequest>;
export type UpdateSessionParams = Params<UpdateSessionRequest>;
export type ForkSessionParams = Params<ForkSessionRequest>;
export type SessionChatParams = Params<SessionChatRequest>;
export type SessionChatOptions = Omit<SessionOptions, 'sessionId'>;

export interface SessionListQuery extends PageQuery {
  /** How many to skip; not together with `after`. */
  offset?: number | undefined;
  source?: string | undefined;
  /** Only the session with exactly this title. */
  title?: string | undefined;
  /** With a title: include hidden sessions. */
  include_hidden?: boolean | undefined;
}

export interface SessionMessagesQuery extends PageQuery {
  /** From which end `limit` and `offset` count. With it there is one page, and `after` does not apply. */
  order?: 'oldest' | 'latest' | undefined;
  offset?: number | undefined;
}

export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Most recently used first. A loop reads all pages; `await` gives one page. */
  list(query: SessionListQuery = {}, options?: RequestOptions): Pages<Session, SessionList> {
    const call = { method: 'GET', path: '/api/sessions', fits: isPage, repeat: true } as const;
    // `offset` applies to the first page only; the others follow it.
    return new Pages(query, ({ after }) => {
      const offset = after === undefined ? query.offset : undefined;
      return this.#transport.json({ ...call, query: { ...query, after, offset } }, options);
    });
  }

  /** Without a name the server makes one up. */
  create(params: CreateSessionParams = {}, options?: RequestOptions): Promise<SessionAnswer> {
    const call = { method: 'POST', path: '/api/sessions', body: params, repeat: false } as const;
    return this.#transport.json(call, options);
  }

  get(sessionId: string, options?: RequestOptions): Promise<SessionAnswer> {
    return this.#transport.json({ method: 'GET', path: pathOf(sessionId), repeat: true }, options);
  }

  /** Fields that are absent stay unchanged. */
  update(sessionId: string, params: UpdateSessionParams, options?: RequestOptions): Promise<SessionAnswer> {
    const call = { method: 'PATCH', path: pathOf(sessionId), body: params, repeat: true } as const;
    return this.#transport.json(call, options);
  }

  delete(sessionId: string, options?: RequestOptions): Promise<SessionDeleted> {
    return this.#transport.json({ method: 'DELETE', path: pathOf(sessionId), repeat: true }, options);
  }

  /** In order, from the first. A loop reads all pages; `await` gives one page. */
  messages(
    sessionId: string,
    query: SessionMessagesQuery = {},
    options?: RequestOptions,
  ): Pages<SessionMessage, SessionMessageList> {
    const path = `${pathOf(sessionId)}/messages`;
    const byCursor = query.order === undefined && query.offset === undefined;
    const call = { method: 'GET', path, fits: byCursor ? isPage : isList, repeat: true } as const;
    return new Pages(query, ({ after }) =>
      this.#transport.json({ ...call, query: { ...query, ...(byCursor ? { after } : {}) } }, options),
    );
  }

  /** A new session that starts with the messages of this one and is independent of it. */
  fork(sessionId: string, params: ForkSessionParams = {}, options?: RequestOptions): Promise<ForkedSession> {
    const path = `${pathOf(sessionId)}/fork`;
    return this.#transport.json({ method: 'POST', path, body: params, repeat: false }, options);
  }

  /** One turn: sends a message and resolves with the answer. */
  chat(
    sessionId: string,
    params: SessionChatParams,
    options: SessionChatOptions = {},
  ): Promise<SessionChatCompletion> {
    const call = { ...chatCall(sessionId, '/chat', params, options), repeat: true };
    return this.#transport.json(call, { idempotencyKey: createId('idem'), ...options });
  }

  /** The same turn as a stream. */
  async chatStream(
    sessionId: string,
    params: SessionChatParams,
    options: SessionChatOptions = {},
  ): Promise<SessionChatStream> {
    const call = { ...chatCall(sessionId, '/chat/stream', params, options), events: true, repeat: false };
    return new SessionChatStream(
      await this.#transport.open(call, options),
      options.timeout ?? ANSWER_TIMEOUT_MS,
    );
  }
}

function chatCall(
  sessionId: string,
  rest: string,
  params: SessionChatParams,
  { sessionKey }: SessionChatOptions,
): Omit<Call, 'repeat'> {
  return {
    method: 'POST',
    path: pathOf(sessionId) + rest,
    body: params,
    headers: sessionHeaders({ sessionKey }),
    timeout: ANSWER_TIMEOUT_MS,
  };
}

function pathOf(sessionId: string): string {
  return `/api/sessions/${segment(sessionId)}`;
}
