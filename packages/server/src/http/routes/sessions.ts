/** `/api/sessions`: create, list, get, change, read, fork, delete (PROTOCOL.md). Chat is in session-chat.ts. */
import {
  type ForkedSession,
  parseCreateSession,
  parseForkSession,
  parseUpdateSession,
  type Session,
  type SessionAnswer,
  TalariaError,
} from '@talaria/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { MessagePage, SessionAccess } from '../../engine/session-access.ts';
import { parseJsonBody, parseOptionalJsonBody } from '../requests/json-body.ts';
import { flag, pageLimit, single } from '../requests/query.ts';

export type SessionRoute = { Params: { session_id: string } };

const OFFSET_MAX = 1_000_000;
/** Also the default page size. */
const MESSAGES_MAX = 500;

/** An unknown session is reported before any error in the body, so the session is looked up before the body is read. */
export function createSessionExists(sessions: SessionAccess): (request: FastifyRequest) => Promise<void> {
  return async ({ owner, params }) => {
    await sessions.get(owner, (params as SessionRoute['Params']).session_id);
  };
}

export function installSessionRoutes(app: FastifyInstance, sessions: SessionAccess): void {
  const sessionExists = createSessionExists(sessions);

  app.get('/api/sessions', async ({ owner, query }) => sessions.list(owner, parseListQuery(query)));

  app.post('/api/sessions', async ({ owner, body }, reply) => {
    reply.code(201);
    return toAnswer(await sessions.create(owner, parseCreateSession(parseOptionalJsonBody(body))));
  });

  app.get<SessionRoute>('/api/sessions/:session_id', async ({ owner, params }) =>
    toAnswer(await sessions.get(owner, params.session_id)),
  );

  app.patch<SessionRoute>(
    '/api/sessions/:session_id',
    { preParsing: sessionExists },
    async ({ owner, params, body }) =>
      toAnswer(await sessions.update(owner, params.session_id, parseUpdateSession(parseJsonBody(body)))),
  );

  app.delete<SessionRoute>('/api/sessions/:session_id', async ({ owner, params: { session_id: id } }) => {
    await sessions.delete(owner, id);
    return { object: 'hermes.session.deleted', id, deleted: true, ok: true };
  });

  app.get<SessionRoute>('/api/sessions/:session_id/messages', async ({ owner, params, query }) =>
    sessions.messages(owner, params.session_id, parseMessagesQuery(query)),
  );

  app.post<SessionRoute>(
    '/api/sessions/:session_id/fork',
    { preParsing: sessionExists },
    async ({ owner, params, body }, reply) => {
      const fork = parseForkSession(parseOptionalJsonBody(body));
      reply.code(201);
      const { session, filesAsOf } = await sessions.fork(owner, params.session_id, fork);
      return { ...toAnswer(session), files_as_of: filesAsOf } satisfies ForkedSession;
    },
  );
}

/** Hermes clients find a session under `session`; ours find its fields in the response itself. */
function toAnswer(session: Session): SessionAnswer {
  return { ...session, session };
}

function parseListQuery(query: unknown) {
  const [after, offset, title] = [single(query, 'after'), single(query, 'offset'), single(query, 'title')];
  if (after !== undefined && offset !== undefined) {
    throw new TalariaError('invalid_pagination', {
      message: "'offset' and 'after' cannot be used together",
      param: 'offset',
    });
  }
  const includeHidden = flag(query, 'include_hidden');
  return {
    limit: pageLimit(query),
    after,
    offset: offset === undefined ? undefined : parseOffset(offset),
    source: single(query, 'source'),
    title,
    // A client that knows the title of a hidden session may find it; nobody comes across one by chance.
    includeHidden: includeHidden && title !== undefined,
  };
}

/** By cursor, like every list here; or by `order` and `offset`, for Hermes clients. */
function parseMessagesQuery(query: unknown): MessagePage {
  const [after, offset, order] = [single(query, 'after'), single(query, 'offset'), single(query, 'order')];
  const limit = single(query, 'limit') === undefined ? MESSAGES_MAX : parseMessageLimit(query);
  if (offset === undefined && order === undefined) return { limit, after: parseIndex(after) };
  if (after !== undefined) {
    throw new TalariaError('invalid_pagination', {
      message: "'after' cannot be used with 'offset' or 'order'",
      param: 'after',
    });
  }
  if (order !== undefined && order !== 'oldest' && order !== 'latest') {
    throw new TalariaError('invalid_pagination', {
      message: "'order' must be oldest or latest",
      param: 'order',
    });
  }
  return { limit, order: order ?? 'latest', offset: offset === undefined ? 0 : parseOffset(offset) };
}

function parseMessageLimit(query: unknown): number {
  try {
    return pageLimit(query, MESSAGES_MAX);
  } catch (error) {
    throw new TalariaError('invalid_pagination', { message: (error as Error).message, param: 'limit' });
  }
}

function parseOffset(value: string): number {
  const offset = /^\d{1,7}$/.test(value) ? Number(value) : -1;
  if (offset < 0 || offset > OFFSET_MAX) {
    const message = `'offset' must be a whole number from 0 to ${OFFSET_MAX}`;
    throw new TalariaError('invalid_pagination', { message, param: 'offset' });
  }
  return offset;
}

function parseIndex(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) {
    throw new TalariaError('invalid_cursor', {
      message: "'after' must be the index of a message",
      param: 'after',
    });
  }
  return Number(value);
}
