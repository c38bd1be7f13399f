/**
 * `GET /v1/runs/{id}/diff`: what changed in a run's files between two events, as a list or as a patch (PROTOCOL.md). Both come from
 * checkpoints, so every server answers. A patch is streamed; if it cannot be finished, the connection is cut.
 */
import { Readable } from 'node:stream';
import { type RunDiff, TalariaError } from '@talaria/protocol';
import { requestedPath, WORKSPACE_DIR } from '@talaria/sandbox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ComparedCheckpoints } from '../../diff/changed-files.ts';
import { type DiffOptions, listChanges } from '../../diff/list-changes.ts';
import { patchBetween } from '../../diff/patch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { RunCheckpoints } from '../../engine/run-checkpoints.ts';
import { attachment } from '../replies/content-disposition.ts';
import { leaving } from '../requests/leaving.ts';
import { eventSeq, single } from '../requests/query.ts';
import { withCodes } from './artifacts.ts';

type RunRoute = { Params: { run_id: string } };

export function installDiffRoutes(app: FastifyInstance, engine: Engine): void {
  app.get<RunRoute>('/v1/runs/:run_id/diff', async (request, reply) => {
    const { run_id } = request.params;
    const checkpoints = await engine.workspaces.findCheckpoints(request.owner, run_id);
    const asPatch = wantsPatch(request.query);
    return withCodes(async () => {
      const path = single(request.query, 'path') ?? '';
      const { owner } = request;
      const options = { owner, within: requestedPath(path, WORKSPACE_DIR), signal: leaving(reply) };
      const compared = await findBoth(checkpoints, request.query);
      if (!asPatch) return { object: 'list', run_id, ...(await toDiff(compared, options)) } satisfies RunDiff;
      return sendPatch(request, reply, compared, options);
    });
  });
}

function wantsPatch(query: unknown): boolean {
  const format = single(query, 'format');
  if (format === undefined || format === 'patch') return format === 'patch';
  throw new TalariaError('invalid_request', { message: "'format' must be patch", param: 'format' });
}

async function findBoth(checkpoints: RunCheckpoints, query: unknown): Promise<ComparedCheckpoints> {
  const [first, last] = [eventSeq(query, 'from'), eventSeq(query, 'to')];
  return {
    from: first === undefined ? await checkpoints.first() : await checkpoints.at(first, 'from'),
    to: last === undefined ? await checkpoints.last() : await checkpoints.at(last, 'to'),
  };
}

async function toDiff(
  compared: ComparedCheckpoints,
  options: DiffOptions,
): Promise<Omit<RunDiff, 'object' | 'run_id'>> {
  const { from, to } = compared;
  return {
    from_seq: from.asOfSeq,
    to_seq: to.asOfSeq,
    ...(await listChanges(compared, options)),
    ...(from.omittedCount === 0 ? {} : { from_omitted_count: from.omittedCount }),
    ...(to.omittedCount === 0 ? {} : { to_omitted_count: to.omittedCount }),
  };
}

function sendPatch(
  request: FastifyRequest<RunRoute>,
  reply: FastifyReply,
  compared: ComparedCheckpoints,
  options: DiffOptions,
): FastifyReply {
  const { text, leftOut } = patchBetween(compared, options);
  reply.headers({
    'content-type': 'text/x-diff; charset=utf-8',
    'content-disposition': attachment(`${request.params.run_id}.patch`),
    'cache-control': 'private, no-store',
    'x-talaria-from-seq': compared.from.asOfSeq,
    'x-talaria-to-seq': compared.to.asOfSeq,
    ...(leftOut === 0 ? {} : { 'x-talaria-left-out': leftOut }),
  });
  return reply.send(request.method === 'GET' ? Readable.from(text, { objectMode: false }) : undefined);
}
