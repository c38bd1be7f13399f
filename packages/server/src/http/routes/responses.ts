/** `/v1/responses`: runs, asked for, read and gone on from in OpenAI's words (PROTOCOL.md). */
import {
  parseCreateResponse,
  parseIdempotencyKey,
  parseObject,
  type Run,
  TalariaError,
} from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import type { ResponseSettings } from '../../journal/responses.ts';
import type { ResponseRuns } from '../../responses/response-runs.ts';
import { header } from '../header.ts';
import { type InlineRuns, inlineIdempotency } from '../inline/inline-runs.ts';
import { sendRunFailure, toRunFailure } from '../inline/run-failure.ts';
import { readSessionHeaders } from '../inline/session-headers.ts';
import { parseJsonBody } from '../json-body.ts';
import { single } from '../query.ts';
import { ResponseEvents } from '../responses/response-events.ts';
import { parseTraceparent } from '../traceparent.ts';

export interface ResponseRouteOptions {
  engine: Engine;
  responses: ResponseRuns;
  inline: InlineRuns;
  keyConfigured: boolean;
}

type ResponseRoute = { Params: { response_id: string } };

export function installResponseRoutes(app: FastifyInstance, options: ResponseRouteOptions): void {
  const { engine, responses, inline, keyConfigured } = options;

  app.post('/v1/responses', { config: { startsWork: true } }, async (request, reply) => {
    const { owner } = request;
    const body = parseObject(parseJsonBody(request.body));
    const key = parseIdempotencyKey(header(request, 'idempotency-key'));
    const session = readSessionHeaders(request, keyConfigured);
    const asked = parseCreateResponse(body);
    const started = await inline.start(reply, {
      owner,
      session,
      background: asked.background,
      submit: () =>
        responses.submit(owner, asked, {
          sessionId: session.sessionId,
          idempotency: inlineIdempotency('responses', key, { body, session }),
          traceparent: parseTraceparent(header(request, 'traceparent')),
        }),
    });
    const settings = responses.settings(asked);
    if (asked.stream) {
      const events = eventsOf(started.run, settings);
      inline.stream(reply, started, events, positionOf(events));
      return;
    }
    if (asked.background) return responses.read(started.run, settings);
    let last: StoredEvent | undefined;
    const take = (event: StoredEvent): void => {
      last = event;
    };
    if (!(await inline.readToEnd(reply, started, take))) return;
    const response = await responses.read(started.run, settings);
    const succeeded = response.status === 'completed' || response.status === 'incomplete';
    return succeeded ? response : sendRunFailure(reply, toRunFailure(last!));
  });

  app.get<ResponseRoute>('/v1/responses/:response_id', { exposeHeadRoute: false }, async (request, reply) => {
    const { owner, query } = request;
    const { response_id: responseId } = request.params;
    const stored = await responses.find(owner, responseId);
    if (!parseFlag(single(query, 'stream'), 'stream')) return responses.get(owner, responseId);
    const after = parseNumber(single(query, 'starting_after'));
    const run = await engine.get(owner, stored.runId).catch(toEventsGone);
    const events = eventsOf(run, stored.settings);
    if (after !== undefined) await events.skipTo(after);
    reply.header('x-talaria-run-id', stored.runId);
    inline.stream(reply, inline.join(reply, owner, run), events, positionOf(events));
  });

  app.delete<ResponseRoute>('/v1/responses/:response_id', async (request) => {
    const { response_id: id } = request.params;
    await responses.delete(request.owner, id);
    return { id, object: 'response', deleted: true };
  });

  app.post<ResponseRoute>('/v1/responses/:response_id/cancel', async (request) =>
    responses.cancel(request.owner, request.params.response_id),
  );

  const eventsOf = (run: Run, settings: ResponseSettings): ResponseEvents =>
    new ResponseEvents({
      runId: run.run_id,
      fold: responses.fold(run, settings),
      journal: responses.journal,
      subscribe: (after, subscriber) => engine.subscribe(run.run_id, after, subscriber),
    });
}

function positionOf({ after, ended, subscribe }: ResponseEvents) {
  return { after, ended, subscribe };
}

function parseFlag(value: string | undefined, name: string): boolean {
  if (value === undefined) return false;
  if (value !== 'true' && value !== 'false') {
    throw new TalariaError('invalid_request', { message: `'${name}' must be true or false`, param: name });
  }
  return value === 'true';
}

function parseNumber(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) {
    const message = "'starting_after' must be the sequence_number of an event: a whole number";
    throw new TalariaError('invalid_cursor', { message, param: 'starting_after' });
  }
  return Number(value);
}

function toEventsGone(error: unknown): never {
  const isGone = error instanceof TalariaError && error.code === 'run_not_found';
  throw isGone ? new TalariaError('response_events_gone') : error;
}
