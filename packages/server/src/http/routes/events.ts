/** `GET /v1/runs/{id}/events`: the stream (PROTOCOL.md). */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import { EventStream } from '../event-stream.ts';
import { EventStreams } from '../event-streams.ts';

export function installEventRoutes(app: FastifyInstance, engine: Engine, bufferBytes: number): void {
  const streams = new EventStreams();
  app.addHook('preClose', async () => streams.close());

  app.get<{ Params: { run_id: string } }>(
    '/v1/runs/:run_id/events',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { run_id: runId } = request.params;
      // Also for a cursor that is no number: whether the run exists is said first.
      await engine.get(request.owner, runId);
      const after = parseCursor(request);
      const { ended } = await engine.checkCursor(request.owner, runId, after);

      reply.hijack();
      const response = reply.raw;
      // The reader may have gone meanwhile; its close has been and will not come again.
      if (response.destroyed) return;
      response.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      });
      // Events are small and each write is a whole number of them: waiting for more only delays them.
      response.socket?.setNoDelay(true);
      const stream = new EventStream(response, {
        runId,
        after,
        bufferBytes,
        subscribe: (cursor, subscriber) => engine.subscribe(runId, cursor, subscriber),
      });
      if (ended) {
        stream.end();
        return;
      }
      streams.add(stream);
      response.on('close', () => streams.delete(stream));
      // A pipelined request waits until the answers before it are out: nothing is read for it that could not leave.
      if (response.socket === null) response.once('socket', () => stream.start());
      else stream.start();
    },
  );
}

function parseCursor(request: FastifyRequest): number {
  const query = request.query as Record<string, unknown>;
  // An empty one is no cursor: browsers send the header so before the first event.
  const given = [request.headers['last-event-id'], query.last_event_id, query.last_seq].find(
    (value) => value !== undefined && value !== '',
  );
  if (given === undefined) return -1;
  if (typeof given !== 'string' || !/^\d{1,15}$/.test(given)) {
    const message = 'The cursor must be the id of an event: a whole number';
    throw new TalariaError('invalid_cursor', { message, param: 'last_event_id' });
  }
  return Number(given);
}
