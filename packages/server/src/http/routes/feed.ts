/** `GET /v1/feed`: all runs of the key, as they change (PROTOCOL.md). */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RunFeed } from '../../engine/run-feed.ts';
import { FEED_CURSOR } from '../../journal/changes.ts';
import type { EventStreams } from '../streams/event-streams.ts';
import { runFeedFormat } from '../streams/run-feed-format.ts';

export function installFeedRoutes(app: FastifyInstance, feed: RunFeed, streams: EventStreams): void {
  app.get('/v1/feed', { exposeHeadRoute: false }, async (request, reply) => {
    const { owner } = request;
    const begin = await feed.placeOf(owner, parseCursor(request));
    streams.open(reply, {
      format: runFeedFormat(feed, owner, begin),
      after: begin,
      cursorAfter: (batch) => batch.at(-1)!.place,
      subscribe: (place, subscriber) => feed.subscribe(owner, place, subscriber),
    });
  });
}

function parseCursor(request: FastifyRequest): string | undefined {
  const { after } = request.query as Record<string, unknown>;
  // An empty one counts as absent: browsers send an empty header before the first event.
  const given = [request.headers['last-event-id'], after].filter(
    (value) => value !== undefined && value !== '',
  );
  if (!given.every((value) => typeof value === 'string')) {
    throw new TalariaError('invalid_cursor', { message: FEED_CURSOR, param: 'after' });
  }
  return given[0] as string | undefined;
}
