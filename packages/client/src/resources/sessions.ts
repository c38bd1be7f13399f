/** `/api/sessions`: the transcripts of what was said under one name. */
import type {
  ForkSessionRequest,
  Session,
  SessionDeleted,
  SessionList,
  SessionMessage,
  SessionMessageList,
} from '@talaria/protocol';
import { isPage, type PageQuery, Pages } from '../pages.ts';
import type { Params } from '../params.ts';
import { type RequestOptions, segment, type Transport } from '../transport.ts';

export type ForkSessionParams = Params<ForkSessionRequest>;

export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The one used last first. A loop over it goes through all pages; awaited, it is one page. */
  list(query: PageQuery = {}, options?: RequestOptions): Pages<Session, SessionList> {
    const call = { method: 'GET', path: '/api/sessions', fits: isPage, repeat: true } as const;
    return new Pages(query, (page) => this.#transport.json({ ...call, query: page }, options));
  }

  get(sessionId: string, options?: RequestOptions): Promise<Session> {
    return this.#transport.json({ method: 'GET', path: pathOf(sessionId), repeat: true }, options);
  }

  delete(sessionId: string, options?: RequestOptions): Promise<SessionDeleted> {
    return this.#transport.json({ method: 'DELETE', path: pathOf(sessionId), repeat: true }, options);
  }

  /** From the first on. A loop over it goes through all pages; awaited, it is one page. */
  messages(
    sessionId: string,
    query: PageQuery = {},
    options?: RequestOptions,
  ): Pages<SessionMessage, SessionMessageList> {
    const path = `${pathOf(sessionId)}/messages`;
    const call = { method: 'GET', path, fits: isPage, repeat: true } as const;
    return new Pages(query, (page) => this.#transport.json({ ...call, query: page }, options));
  }

  /** A session that begins as this one did, and goes its own way. */
  fork(sessionId: string, params: ForkSessionParams = {}, options?: RequestOptions): Promise<Session> {
    const path = `${pathOf(sessionId)}/fork`;
    return this.#transport.json({ method: 'POST', path, body: params, repeat: false }, options);
  }
}

function pathOf(sessionId: string): string {
  return `/api/sessions/${segment(sessionId)}`;
}
