/**
 * `/v1/runs/{id}/artifacts`: the files of a run's workspace (PROTOCOL.md). If several servers share a store, the files
 * may be on another one, which is asked at the same routes under a prefix for peers (peer-routes.ts). The same code
 * serves the files of a slot, and those of a checkpoint (replies/as-of.ts).
 *
 * After the first byte, the only way to report a failure is to cut the connection. Lengths and chunked endings are set
 * so that a cut-off file never looks complete.
 */
import { basename } from 'node:path';
import { TalariaError } from '@talaria/protocol';
import { SandboxError, type WorkspaceReader } from '@talaria/sandbox';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { ARCHIVE_CONTENT_TYPES, parseArchiveFormat } from '../replies/archive-format.ts';
import type { AsOf } from '../replies/as-of.ts';
import { attachment } from '../replies/content-disposition.ts';
import { freeWhenSent } from '../replies/free-when-sent.ts';
import { prepareFile } from '../replies/prepare-file.ts';
import { leaving } from '../requests/leaving.ts';
import { count, flag, single } from '../requests/query.ts';

/** A listing is one response, held in memory. */
const LISTED_MAX = 10_000;

/** The one parameter is the id of the run or slot; its name is also the name of that id in responses. */
type HolderRoute = { Params: Record<string, string> };

/** Responds from files that this server can read; undefined for a run that has none yet. */
type Answer<R> = (
  workspace: WorkspaceReader | undefined,
  request: FastifyRequest<HolderRoute>,
  reply: FastifyReply,
  asOf: AsOf | undefined,
) => Promise<R>;

export type ArtifactQuestion = 'list' | 'content' | 'archive';

export interface ArtifactRoutes {
  /** The path before the id of the run or slot. */
  prefix: string;
  /** The name of that id. */
  holder: 'run_id' | 'slot_id';
  /** The options of all these routes. */
  options: Pick<RouteShorthandOptions, 'config' | 'onRequest'>;
  /** Refuses, responds with `here` from files that this server can read, or responds in another way. */
  answer(
    asked: { request: FastifyRequest; reply: FastifyReply; id: string; question: ArtifactQuestion },
    here: (workspace: WorkspaceReader | undefined, asOf?: AsOf) => Promise<unknown>,
  ): Promise<unknown>;
}

export function installArtifactRoutes(
  app: FastifyInstance,
  { prefix, holder, options, answer }: ArtifactRoutes,
): void {
  const install = (
    method: ['GET'] | ['GET', 'HEAD'],
    path: string,
    question: ArtifactQuestion,
    answerHere: Answer<unknown>,
  ): void => {
    app.route<HolderRoute>({
      method,
      url: `${prefix}/:${holder}/artifacts${path}`,
      exposeHeadRoute: method.length === 1,
      ...options,
      handler: (request, reply) =>
        answer({ request, reply, id: request.params[holder]!, question }, (workspace, asOf) =>
          withCodes(() => answerHere(workspace, request, reply, asOf)),
        ),
    });
  };
  install(['GET'], '', 'list', sendList);
  install(['GET', 'HEAD'], '/content', 'content', sendContent);
  install(['GET', 'HEAD'], '/archive', 'archive', sendArchive);
}

const sendList: Answer<object> = async (workspace, request, reply, asOf) => {
  const asked = single(request.query, 'path') ?? '';
  const recursive = flag(request.query, 'recursive');
  const maxEntries = count(request.query, 'max_entries', LISTED_MAX);
  // The run has not used its tools yet: its workspace will come, and is empty now.
  if (workspace === undefined && asked === '') {
    return { object: 'list', ...request.params, data: [], truncated: false };
  }
  const { entries, truncated } = await existing(workspace).list(asked, {
    recursive,
    maxEntries,
    signal: leaving(reply),
  });
  const data = entries.map(({ modifiedAt, ...entry }) => ({ ...entry, modified_at: modifiedAt }));
  return { object: 'list', ...request.params, data, truncated, ...asOf };
};

const sendContent: Answer<FastifyReply> = async (workspace, request, reply) => {
  const asked = single(request.query, 'path');
  if (asked === undefined) {
    throw new TalariaError('invalid_path', { message: "'path' must name a file", param: 'path' });
  }
  return sendFile(request, reply, existing(workspace), asked);
};

const sendArchive: Answer<FastifyReply> = async (workspace, request, reply) => {
  const asked = single(request.query, 'path') ?? '';
  const format = parseArchiveFormat(single(request.query, 'format'));
  const archive = await existing(workspace).archive(asked, { format });
  reply.headers({
    'content-type': ARCHIVE_CONTENT_TYPES[format],
    'content-disposition': attachment(`${archiveName(asked) || Object.values(request.params)[0]}.${format}`),
    'cache-control': 'private, no-store',
  });
  if (request.method === 'GET') {
    freeWhenSent(reply.raw);
    return reply.send(archive);
  }
  archive.destroy();
  return reply.send();
};

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  workspace: WorkspaceReader,
  path: string,
): Promise<FastifyReply> {
  await using opened = new AsyncDisposableStack();
  const file = opened.use(await workspace.open(path));
  const sha256 = await file.sha256(leaving(reply));
  const { size, modifiedAt } = file;
  const range = prepareFile(request, reply, { name: basename(file.path), size, sha256, modifiedAt });
  if (range === undefined) return reply.send();
  opened.move();
  freeWhenSent(reply.raw);
  return reply.send(file.stream(range, { sha256 }));
}

function existing(workspace: WorkspaceReader | undefined): WorkspaceReader {
  if (workspace !== undefined) return workspace;
  throw new TalariaError('artifact_not_found', { message: 'The run has no files yet', param: 'path' });
}

/** The codes of the sandbox for paths are those of the API. */
export async function withCodes<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    if (error.code !== 'invalid_path' && error.code !== 'artifact_not_found') throw error;
    throw new TalariaError(error.code, { message: error.message, param: 'path', cause: error });
  }
}

/** The last name in the path; nothing for the workspace itself, however it was written. */
function archiveName(path: string): string {
  const name = basename(path);
  return /^\.*$/.test(name) ? '' : name;
}
