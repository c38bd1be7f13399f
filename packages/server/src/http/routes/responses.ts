/** `/v1/responses`: runs in OpenAI's dialect: created, read and continued (PROTOCOL.md). */
import type { IncomingHttpHeaders } from 'node:http';
import {
  type CreateResponse,
  filesIn,
  outputText,
  parseCreateResponse,
  parseIdempotencyKey,
  parseObject,
  type ResponseInputTokens,
  TalariaError,
  textOfParts,
} from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { Journal, StoredEvent } from '../../journal/journal.ts';
import { resolveInput } from '../../responses/input-items.ts';
import { listItems } from '../../responses/item-lists.ts';
import type { ResponseHead } from '../../responses/response-object.ts';
import { headOf, type ResponseRuns, type RunPart } from '../../responses/response-runs.ts';
import { restartsStreams } from '../inline/client-traits.ts';
import type { ContinuedRun, ContinuedRuns } from '../inline/continued-runs.ts';
import { type InlineRuns, inlineIdempotency } from '../inline/inline-runs.ts';
import { sendRunFailure, toRunFailure } from '../inline/run-failure.ts';
import { readSessionHeaders } from '../inline/session-headers.ts';
import { header } from '../requests/header.ts';
import { parseJsonBody } from '../requests/json-body.ts';
import { single } from '../requests/query.ts';
import { parseTraceparent } from '../requests/traceparent.ts';
import { itemPage } from '../responses/item-page.ts';
import { ResponseEvents } from '../responses/response-events.ts';
import { viewFor } from '../responses/response-view.ts';

export interface ResponseRouteOptions {
  engine: Engine;
  responses: ResponseRuns;
  journal: Pick<Journal, 'readLog' | 'readEvents'>;
  inline: InlineRuns;
  continued: ContinuedRuns;
  keyConfigured: boolean;
  /** Whether streams show approval requests as text. */
  tellApprovals: boolean;
}

type ResponseRoute = { Params: { response_id: string } };

export function installResponseRoutes(app: FastifyInstance, options: ResponseRouteOptions): void {
  const { engine, responses, journal, inline, continued, keyConfigured, tellApprovals } = options;

  app.post('/v1/responses', { config: { startsWork: true } }, async (request, reply) => {
    const { owner } = request;
    const body = parseObject(parseJsonBody(request.body));
    const key = parseIdempotencyKey(header(request, 'idempotency-key'));
    const session = readSessionHeaders(request, keyConfigured);
    const input = await resolveInput(responses, owner, body.input);
    const asked = parseCreateResponse({ ...body, input });
    const items = Array.isArray(input) ? (input as unknown[]) : [input];
    const view = viewFor(request, asked, tellApprovals);
    const continuing = (part: RunPart) => responses.continue(asked, view, items, part);
    const before = await continueRun(owner, asked, continuing);
    const settings = responses.settings(asked, view);
    const started = await inline.start(reply, {
      owner,
      session,
      background: asked.background,
      submit: async () =>
        before === undefined
          ? responses.submit(owner, asked, settings, {
              sessionId: session.sessionId,
              input: JSON.stringify(items),
              idempotency: inlineIdempotency('responses', key, { body, session }),
              traceparent: parseTraceparent(header(request, 'traceparent')),
            })
          : { run_id: before.run.run_id, status: before.run.status, replayed: false },
    });
    const head = before === undefined ? headOf(started.run, settings) : await continuing(before);
    if (asked.stream) {
      const events = eventsOf(head, request.headers);
      inline.stream(reply, started, events, positionOf(events));
      return;
    }
    if (asked.background) return responses.read(head);
    let last: StoredEvent | undefined;
    const take = (event: StoredEvent): void => {
      last = event;
    };
    if (!(await inline.readToEnd(reply, started, take, head.afterSeq))) return;
    const response = await responses.read(head);
    const succeeded = response.status === 'completed' || response.status === 'incomplete';
    return succeeded ? response : sendRunFailure(reply, toRunFailure(last!));
  });

  app.post('/v1/responses/input_tokens', async (request): Promise<ResponseInputTokens> => {
    const { owner } = request;
    const body = parseObject(parseJsonBody(request.body));
    const { sessionId } = readSessionHeaders(request, keyConfigured);
    const asked = parseCreateResponse({ ...body, input: await resolveInput(responses, owner, body.input) });
    const input_tokens = await responses.inputTokens(owner, asked, sessionId);
    return { object: 'response.input_tokens', input_tokens };
  });

  app.get<ResponseRoute>('/v1/responses/:response_id', { exposeHeadRoute: false }, async (request, reply) => {
    const { owner, query } = request;
    const { response_id: responseId } = request.params;
    const stored = await responses.find(owner, responseId);
    const after = parseNumber(single(query, 'starting_after'));
    if (!parseFlag(single(query, 'stream'), 'stream')) return responses.get(owner, responseId);
    const run = await engine.get(owner, stored.runId).catch(toEventsGone);
    const events = eventsOf(stored, request.headers);
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

  app.get<ResponseRoute>('/v1/responses/:response_id/input_items', async ({ owner, params, query }) =>
    listItems(await responses.inputItems(owner, params.response_id), itemPage(query)),
  );

  /** The run that waits for the outputs in the request; undefined when there is none. */
  const continueRun = async (
    owner: string,
    asked: CreateResponse,
    prepare: (part: RunPart) => Promise<unknown>,
  ): Promise<ContinuedRun | undefined> => {
    const { outputs, prompt, promptIsLast } = asked;
    // A run in progress accepts only text; input with images or files starts a new run.
    const isText =
      typeof prompt === 'string' || (textOfParts(prompt) !== undefined && filesIn(prompt).length === 0);
    const isTellable = !promptIsLast || isText;
    if (outputs.length === 0 || !isTellable) return undefined;
    return continued.continue(owner, outputs, {
      asked,
      message: promptIsLast ? outputText(prompt) : undefined,
      prepare: async (part) => void (await prepare(part)),
    });
  };

  const eventsOf = (head: ResponseHead, headers: IncomingHttpHeaders): ResponseEvents =>
    new ResponseEvents({
      runId: head.runId,
      afterSeq: head.afterSeq,
      fold: responses.fold(head),
      journal,
      restartsStreams: restartsStreams(headers),
      subscribe: (after, subscriber) => engine.subscribe(head.runId, after, subscriber),
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
