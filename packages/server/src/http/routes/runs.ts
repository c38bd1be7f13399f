/** `/v1/runs`: create, fork, get, keep, list, calls, stop, approve, steer, outputs of client tools (PROTOCOL.md). */
import {
  parseApprovalAnswer,
  parseCreateRun,
  parseForkRun,
  parseIdempotencyKey,
  parseObject,
  parseSteer,
  parseToolOutputs,
  parseUpdateRun,
  RUN_STATUSES,
  type RunCreated,
  type RunList,
  type RunStatus,
  TalariaError,
} from '@talaria/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import { SEARCH_CHARS_MAX } from '../../engine/run-lists.ts';
import { header } from '../requests/header.ts';
import { parseJsonBody, parseOptionalJsonBody } from '../requests/json-body.ts';
import { epochSeconds, pageLimit, single } from '../requests/query.ts';
import { parseTraceparent } from '../requests/traceparent.ts';

type RunRoute = { Params: { run_id: string } };

const NO_RUNS: RunList = { object: 'list', data: [], has_more: false, next_cursor: null };

export function installRunRoutes(app: FastifyInstance, engine: Engine): void {
  app.post('/v1/runs', { config: { startsWork: true } }, async (request, reply) => {
    // The order of the checks is part of the contract: JSON, key, then the fields.
    const body = parseObject(parseJsonBody(request.body));
    const key = parseIdempotencyKey(header(request, 'idempotency-key'));
    const created = await engine.submissions.submit(
      request.owner,
      parseCreateRun(body),
      key === undefined ? undefined : { key, body },
      parseTraceparent(header(request, 'traceparent')),
    );
    return sendCreated(reply, created);
  });

  app.get('/v1/runs', async (request) => {
    const { query } = request;
    const filter = {
      statuses: parseStatuses(single(query, 'status')),
      sessionId: single(query, 'session_id'),
      jobId: single(query, 'job_id'),
      since: epochSeconds(query, 'since'),
      until: epochSeconds(query, 'until'),
      words: parseWords(single(query, 'q')),
      headsOnly: parseView(single(query, 'view')) === 'head',
      limit: pageLimit(query),
      after: single(query, 'after'),
    };
    // No run has an agent or a parent yet. A filter that the server ignored would show other runs as theirs.
    const isOfNone = ['agent', 'parent_run_id'].some((name) => single(query, name) !== undefined);
    return isOfNone ? NO_RUNS : engine.lists.page(request.owner, filter);
  });

  app.get<RunRoute>('/v1/runs/:run_id', async (request) => {
    const { owner, params, query } = request;
    const isHead = parseView(single(query, 'view')) === 'head';
    return isHead ? engine.getHead(owner, params.run_id) : engine.get(owner, params.run_id);
  });

  app.get<{ Params: { run_id: string; tool_call_id: string } }>(
    '/v1/runs/:run_id/calls/:tool_call_id',
    async (request) => engine.getCall(request.owner, request.params.run_id, request.params.tool_call_id),
  );

  // An unknown run is reported before any error in the body, so the run is looked up before the body is read.
  const runExists = async (request: FastifyRequest): Promise<void> => {
    await engine.get(request.owner, (request.params as RunRoute['Params']).run_id);
  };

  app.patch<RunRoute>('/v1/runs/:run_id', { preParsing: runExists }, async (request) => {
    const { keep } = parseUpdateRun(parseJsonBody(request.body));
    return engine.keep(request.owner, request.params.run_id, keep);
  });

  app.post<RunRoute>(
    '/v1/runs/:run_id/fork',
    { config: { startsWork: true }, preParsing: runExists },
    async (request, reply) => {
      const { run_id } = request.params;
      const body = parseObject(parseOptionalJsonBody(request.body));
      const key = parseIdempotencyKey(header(request, 'idempotency-key'));
      const created = await engine.forks.fork(
        request.owner,
        run_id,
        parseForkRun(body),
        key === undefined ? undefined : { key, body: { forked: run_id, body } },
        parseTraceparent(header(request, 'traceparent')),
      );
      return sendCreated(reply, created);
    },
  );

  app.post<RunRoute>('/v1/runs/:run_id/stop', { preParsing: runExists }, async (request) => {
    const { run_id } = request.params;
    await engine.stop(request.owner, run_id);
    return { run_id, status: 'stopping' };
  });

  app.post<RunRoute>('/v1/runs/:run_id/approval', { preParsing: runExists }, async (request) =>
    engine.answerApproval(
      request.owner,
      request.params.run_id,
      parseApprovalAnswer(parseJsonBody(request.body)),
    ),
  );

  app.post<RunRoute>('/v1/runs/:run_id/steer', { preParsing: runExists }, async (request) => {
    const { run_id } = request.params;
    await engine.steer(request.owner, run_id, parseSteer(parseJsonBody(request.body)));
    return { object: 'hermes.run.steer', run_id, accepted: true };
  });

  app.post<RunRoute>('/v1/runs/:run_id/tool_outputs', { preParsing: runExists }, async (request) =>
    engine.answerCalls(request.owner, request.params.run_id, parseToolOutputs(parseJsonBody(request.body))),
  );
}

function sendCreated(reply: FastifyReply, created: RunCreated): FastifyReply {
  if (created.replayed) reply.header('idempotency-replayed', 'true');
  return reply.code(202).send(created);
}

/** One status or several, separated by commas. */
function parseStatuses(value: string | undefined): RunStatus[] | undefined {
  if (value === undefined) return undefined;
  // Each status becomes a part of the store's query, so one that is named twice counts once.
  return [...new Set(value.split(','))].map((name) => {
    const status = RUN_STATUSES.find((known) => known === name);
    if (status !== undefined) return status;
    const message = `'status' must be one or several of ${RUN_STATUSES.join(', ')}, separated by commas`;
    throw new TalariaError('invalid_request', { message, param: 'status' });
  });
}

function parseWords(value: string | undefined): string[] | undefined {
  if (value !== undefined && value.length > SEARCH_CHARS_MAX) {
    const message = `'q' must have at most ${SEARCH_CHARS_MAX} characters, and has ${value.length}`;
    throw new TalariaError('invalid_request', { message, param: 'q' });
  }
  const words = new Set(value?.match(/\S+/g));
  return words.size === 0 ? undefined : [...words];
}

function parseView(value: string | undefined): 'head' | 'full' {
  if (value === undefined || value === 'full') return 'full';
  if (value === 'head') return 'head';
  throw new TalariaError('invalid_request', { message: "'view' must be head or full", param: 'view' });
}
