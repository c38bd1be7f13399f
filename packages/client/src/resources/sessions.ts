/** `/api/sessions`: the transcripts of what was said under one name. */
import {
  type CreateSessionRequest,
  createId,
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
  /** How many to leave out; not together with `after`. */
  offset?: number | undefined;
  source?: string | undefined;
  /** Exactly this one. */
  title?: string | undefined;
  /** With a title: hidden ones as well. */
  include_hidden?: boolean | undefined;
}

export interface SessionMessagesQuery extends PageQuery {
  /** From which end `limit` and `offset` count; then it is one page, and `after` is not for it. */
  order?: 'oldest' | 'latest' | undefined;
  offset?: number | undefined;
}

export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The one used last first. A loop over it goes through all pages; awaited, it is one page. */
  list(query: SessionListQuery = {}, options?: RequestOptions): Pages<Session, SessionList> {
    const call = { method: 'GET', path: '/api/sessions', fits: isPage, repeat: true } as const;
    // Only the first page leaves some out; the others follow it.
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

  /** What is not named stays. */
  update(sessionId: string, params: UpdateSessionParams, options?: RequestOptions): Promise<SessionAnswer> {
    const call = { method: 'PATCH', path: pathOf(sessionId), body: params, repeat: true } as const;
    return this.#transport.json(call, options);
  }

  delete(sessionId: string, options?: RequestOptions): Promise<SessionDeleted> {
    return this.#transport.json({ method: 'DELETE', path: pathOf(sessionId), repeat: true }, options);
  }

  /** From the first on. A loop over it goes through all pages; awaited, it is one page. */
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

  /** A session that begins as this one did, and goes its own way. */
  fork(sessionId: string, params: ForkSessionParams = {}, options?: RequestOptions): Promise<SessionAnswer> {
    const path = `${pathOf(sessionId)}/fork`;
    return this.#transport.json({ method: 'POST', path, body: params, repeat: false }, options);
  }

  /** One turn: what is said to the session, and its answer when it is there. */
  chat(
    sessionId: string,
    params: SessionChatParams,
    options: SessionChatOptions = {},
  ): Promise<SessionChatCompletion> {
    const call = { ...chatCall(sessionId, '/chat', params, options), repeat: true };
    return this.#transport.json(call, { idempotencyKey: createId('idem'), ...options });
  }

  /** The same as it is made. */
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
