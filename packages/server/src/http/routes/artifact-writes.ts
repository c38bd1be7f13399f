/**
 * `PUT` and `DELETE /v1/runs/{id}/artifacts/content`: writes one file of a run's workspace, or removes what is at a path
 * (PROTOCOL.md). The same routes serve peers, for files that are on this server.
 */
import {
  type ApiErrorCode,
  type ArtifactRemoved,
  TalariaError,
  type WrittenArtifact,
} from '@talaria/protocol';
import {
  SandboxError,
  type SandboxErrorCode,
  type WorkspaceWriter,
  type WriteConditions,
} from '@talaria/sandbox';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { parseTags } from '../requests/byte-range.ts';
import { header } from '../requests/header.ts';
import { leaving } from '../requests/leaving.ts';
import { flag, isGiven, single } from '../requests/query.ts';
import { streamedBody } from '../requests/streamed-body.ts';

type RunRoute = { Params: { run_id: string } };

export interface ArtifactWriteRoutes {
  /** The path before the id of the run. */
  prefix: string;
  options: Pick<RouteShorthandOptions, 'config' | 'onRequest'>;
  /** The largest file that a request may write. */
  maxBytes: number;
  /** Refuses, responds with `here` by a writer of this server, or responds in another way. */
  answer(
    asked: { request: FastifyRequest; reply: FastifyReply; id: string },
    here: (writer: WorkspaceWriter) => Promise<unknown>,
  ): Promise<unknown>;
}

export function installArtifactWriteRoutes(
  app: FastifyInstance,
  { prefix, options, maxBytes, answer }: ArtifactWriteRoutes,
): void {
  const url = `${prefix}/:run_id/artifacts/content`;
  app.put<RunRoute>(
    url,
    { ...options, config: { ...options.config, streamsBody: true } },
    async (request, reply) => {
      const { run_id } = request.params;
      return answer({ request, reply, id: run_id }, async (writer) => {
        refuseAt(request);
        refusePart(request);
        const path = pathOf(request);
        const conditions = conditionsOf(request);
        const content = streamedBody(request);
        const limits = { ...conditions, maxBytes, signal: leaving(reply) };
        const written = await withCodes(() => writer.write(path, content, limits));
        reply.code(written.isNew ? 201 : 200).header('etag', `"${written.sha256}"`);
        const { size, sha256 } = written;
        return {
          object: 'hermes.run.artifact',
          run_id,
          path: written.path,
          type: 'file',
          size,
          modified_at: written.modifiedAt,
          sha256,
        } satisfies WrittenArtifact;
      });
    },
  );
  app.delete<RunRoute>(url, options, async (request, reply) => {
    const { run_id } = request.params;
    return answer({ request, reply, id: run_id }, async (writer) => {
      refuseAt(request);
      const path = pathOf(request);
      const removal = { ...conditionsOf(request), recursive: flag(request.query, 'recursive') };
      await withCodes(() => writer.remove(path, removal));
      return {
        object: 'hermes.run.artifact.deleted',
        run_id,
        path,
        deleted: true,
      } satisfies ArtifactRemoved;
    });
  });
}

function refuseAt({ query }: FastifyRequest): void {
  if (!isGiven(query, 'at')) return;
  const message = "'at' is for reading: files can only be changed as they are now";
  throw new TalariaError('invalid_request', { message, param: 'at' });
}

/** A client that resumes an upload sends the rest of the file: it would replace the whole one. */
function refusePart(request: FastifyRequest): void {
  const range = header(request, 'content-range');
  if (range === undefined) return;
  const message = `The body must be the whole file, and its Content-Range is '${range}'`;
  throw new TalariaError('invalid_request', { message });
}

function pathOf(request: FastifyRequest): string {
  const path = single(request.query, 'path');
  if (path !== undefined) return path;
  throw new TalariaError('invalid_path', { message: "'path' must name a file", param: 'path' });
}

function conditionsOf(request: FastifyRequest): WriteConditions {
  return {
    ifMatch: parseTags(header(request, 'if-match')),
    ifNoneMatch: parseTags(header(request, 'if-none-match')),
  };
}

const CODES = {
  invalid_path: 'invalid_path',
  artifact_not_found: 'artifact_not_found',
  artifact_too_large: 'artifact_too_large',
  precondition_failed: 'precondition_failed',
  workspace_full: 'workspace_full',
  workspace_not_removed: 'artifact_not_removed',
  workspace_reverted: 'workspace_not_ready',
  backend_down: 'sandbox_unavailable',
  slot_unavailable: 'sandbox_unavailable',
} as const satisfies Partial<Record<SandboxErrorCode, unknown>>;

const ABOUT_PATHS: ReadonlySet<ApiErrorCode> = new Set([
  'invalid_path',
  'artifact_not_found',
  'artifact_not_removed',
]);

async function withCodes<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof SandboxError ? CODES[error.code as keyof typeof CODES] : undefined;
    if (code === undefined) throw error;
    const { message } = error as SandboxError;
    // The message names the path on this machine that could not be deleted, so clients do not get it.
    const told = code === 'artifact_not_removed' ? {} : { message };
    throw new TalariaError(code, { ...told, cause: error, ...(ABOUT_PATHS.has(code) && { param: 'path' }) });
  }
}
