/** `GET /v1/runs/{id}/events`: the stream (PROTOCOL.md). */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import { lastSeq } from '../streams/event-stream.ts';
import type { EventStreams } from '../streams/event-streams.ts';
import { runEventFormat } from '../streams/run-event-format.ts';

export function installEventRoutes(app: FastifyInstance, engine: Engine, streams: EventStreams): void {
  app.get<{ Params: { run_id: string } }>(
    '/v1/runs/:run_id/events',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { run_id: runId } = request.params;
      const { after, ended } = await engine.checkCursor(request.owner, runId, () => parseCursor(request));
      // The reader has everything. 204 makes an EventSource stop; after a stream that ended it would reconnect.
      if (ended) return reply.code(204).send();
      streams.open(reply, {
        format: runEventFormat(runId),
        after,
        cursorAfter: lastSeq,
        subscribe: (cursor, subscriber) => engine.subscribe(runId, cursor, subscriber),
      });
    },
  );
}

function parseCursor(request: FastifyRequest): number {
  const query = request.query as Record<string, unknown>;
  // An empty one counts as absent: browsers send an empty header before the first event.
  const given = [request.headers['last-event-id'], query.last_event_id, query.last_seq].filter(
    (value) => value !== undefined && value !== '',
  );
  // All cursors must be valid, also those that the first one overrides.
  if (!given.every((value) => typeof value === 'string' && /^\d{1,15}$/.test(value))) {
    const message = 'The cursor must be the id of an event: a whole number';
    throw new TalariaError('invalid_cursor', { message, param: 'last_event_id' });
  }
  return given.length > 0 ? Number(given[0]) : -1;
}
