/** `/api/sessions`: list, get, read, fork, delete (PROTOCOL.md). */
import { parseForkSession, TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SessionAccess } from '../../engine/session-access.ts';
import { parseOptionalJsonBody } from '../json-body.ts';
import { pageLimit, single } from '../query.ts';

type SessionRoute = { Params: { session_id: string } };

export function installSessionRoutes(app: FastifyInstance, sessions: SessionAccess): void {
  app.get('/api/sessions', async ({ owner, query }) =>
    sessions.list(owner, { limit: pageLimit(query), after: single(query, 'after') }),
  );

  app.get<SessionRoute>('/api/sessions/:session_id', async ({ owner, params }) =>
    sessions.get(owner, params.session_id),
  );

  app.delete<SessionRoute>('/api/sessions/:session_id', async ({ owner, params }) => {
    await sessions.delete(owner, params.session_id);
    return { ok: true };
  });

  app.get<SessionRoute>('/api/sessions/:session_id/messages', async ({ owner, params, query }) =>
    sessions.messages(owner, params.session_id, {
      limit: pageLimit(query),
      after: parseIndex(single(query, 'after')),
    }),
  );

  // Whether the session exists is said before anything about the body, so it is looked up before the body is read.
  const sessionExists = async ({ owner, params }: FastifyRequest): Promise<void> => {
    await sessions.get(owner, (params as SessionRoute['Params']).session_id);
  };

  app.post<SessionRoute>(
    '/api/sessions/:session_id/fork',
    { preParsing: sessionExists },
    async ({ owner, params, body }) =>
      sessions.fork(owner, params.session_id, parseForkSession(parseOptionalJsonBody(body))),
  );
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
