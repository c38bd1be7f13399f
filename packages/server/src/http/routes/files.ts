/** `/v1/files`: files that clients upload, in OpenAI's shapes (PROTOCOL.md). */
import { Readable } from 'node:stream';
import {
  type FileDeleted,
  type FileList,
  TalariaError,
  type StoredFile as WireFile,
} from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import type { FileFilter, StoredFile } from '../../journal/files.ts';
import type { UploadedFiles } from '../../uploads/uploaded-files.ts';
import { prepareFile } from '../replies/prepare-file.ts';
import { leaving } from '../requests/leaving.ts';
import { count, single } from '../requests/query.ts';
import { sentContentType, streamedBody } from '../requests/streamed-body.ts';
import { readUploadForm } from '../requests/upload-form.ts';

type FileRoute = { Params: { file_id: string } };

/** As OpenAI's API. */
const LISTED_MAX = 10_000;

const PATH = '/v1/files';
const ONE = `${PATH}/:file_id`;

export function installFileRoutes(app: FastifyInstance, files: UploadedFiles): void {
  app.post(PATH, { config: { startsWork: true, streamsBody: true } }, async (request, reply) => {
    const length = request.headers['content-length'];
    const stored = await files.create(request.owner, {
      declared: length === undefined ? undefined : Number(length),
      signal: leaving(reply),
      read: (keep) =>
        readUploadForm(
          streamedBody(request),
          { contentType: sentContentType(request), maxBytes: files.maxFormBytes },
          keep,
        ),
    });
    return toWire(stored);
  });

  app.get(PATH, async ({ owner, query }): Promise<FileList> => {
    const { limit, ...filter } = pageOf(query);
    const found = await files.list({ ...filter, owner, limit: limit + 1 });
    const data = found.slice(0, limit).map(toWire);
    return {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: found.length > limit,
      next_cursor: found.length > limit ? data.at(-1)!.id : null,
    };
  });

  app.get<FileRoute>(ONE, async ({ owner, params }) => toWire(await files.get(owner, params.file_id)));

  app.route<FileRoute>({
    method: ['GET', 'HEAD'],
    url: `${ONE}/content`,
    handler: async (request, reply) => {
      const file = await files.get(request.owner, request.params.file_id);
      const range = prepareFile(request, reply, {
        name: file.filename,
        size: file.bytes,
        sha256: file.sha256,
        modifiedAt: file.createdAt / 1000,
      });
      if (range === undefined) return reply.send();
      return reply.send(Readable.from(files.read(file, range), { objectMode: false }));
    },
  });

  app.delete<FileRoute>(ONE, async ({ owner, params: { file_id: id } }): Promise<FileDeleted> => {
    await files.delete(owner, id);
    return { id, object: 'file', deleted: true };
  });
}

function pageOf(query: unknown): Omit<FileFilter, 'owner'> {
  const order = single(query, 'order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') {
    throw new TalariaError('invalid_request', { message: "'order' must be asc or desc", param: 'order' });
  }
  return {
    order,
    limit: count(query, 'limit', LISTED_MAX) ?? LISTED_MAX,
    after: single(query, 'after'),
    purpose: single(query, 'purpose'),
  };
}

function toWire({ fileId, bytes, createdAt, filename, purpose, sha256 }: StoredFile): WireFile {
  return {
    id: fileId,
    object: 'file',
    bytes,
    created_at: Math.floor(createdAt / 1000),
    filename,
    purpose,
    status: 'processed',
    sha256,
  };
}
