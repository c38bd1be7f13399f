/** The routes of what a run has made, for the OpenAPI document. */
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import type { Operation } from './operation.ts';
import { FilePath, MAX_SEQ, Path } from './shared-parts.ts';

const At = Type.Integer({
  minimum: -1,
  maximum: MAX_SEQ,
  description: 'The seq of an event: the files as they were after it. -1: as the run began with them',
});

export const ARTIFACT_OPERATIONS: Record<string, Operation> = {
  'GET /v1/runs/{run_id}/artifacts': {
    tag: 'runs',
    summary: "List the files of a run's workspace",
    query: {
      path: Path,
      recursive: Type.Boolean({ default: false }),
      max_entries: Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000 }),
      at: At,
    },
    answer: schemas.ArtifactListSchema,
    errors: [400, 401, 404, 409],
  },
  'GET /v1/runs/{run_id}/artifacts/content': {
    tag: 'runs',
    summary: "Get one file of a run's workspace",
    description: 'The whole file, or a part of it with a range (206). HEAD gives only the headers.',
    headers: {
      Range: Type.String({ description: 'bytes=first-last, bytes=first- or bytes=-count' }),
      'If-Range': Type.String(),
      'If-None-Match': Type.String(),
    },
    query: { path: FilePath, at: At },
    required: ['path'],
    answer: Type.String(),
    contentType: 'application/octet-stream',
    also: { 206: 'The range', 304: 'The version that the client has' },
    errors: [400, 401, 404, 409, 416],
  },
  'PUT /v1/runs/{run_id}/artifacts/content': {
    tag: 'runs',
    summary: "Write one file of a run's workspace",
    description:
      'The body is the file, of any type. It is there as a whole or not at all, also while the run works.',
    headers: {
      'If-Match': Type.String({ description: 'The ETag that the file must have, or * for any file' }),
      'If-None-Match': Type.String({ description: '*: there must be nothing at this path' }),
    },
    query: { path: FilePath },
    required: ['path'],
    body: Type.String({ format: 'binary' }),
    bodyType: 'application/octet-stream',
    status: 200,
    answer: schemas.WrittenArtifactSchema,
    also: { 201: 'The file is new' },
    errors: [400, 401, 404, 412, 413, 415, 503],
  },
  'DELETE /v1/runs/{run_id}/artifacts/content': {
    tag: 'runs',
    summary: "Remove a file or directory of a run's workspace",
    headers: { 'If-Match': Type.String({ description: 'The ETag that the file must have' }) },
    query: {
      path: FilePath,
      recursive: Type.Boolean({ default: false, description: 'Also remove a directory that is not empty' }),
    },
    required: ['path'],
    answer: schemas.ArtifactRemovedSchema,
    errors: [400, 401, 404, 409, 412, 503],
  },
  'GET /v1/runs/{run_id}/artifacts/archive': {
    tag: 'runs',
    summary: "Get a directory of a run's workspace as an archive",
    query: {
      path: Path,
      format: Type.Union(
        ['tar.gz', 'tgz', 'tar', 'zip'].map((format) => Type.Literal(format)),
        {
          default: 'tar.gz',
        },
      ),
      at: At,
    },
    answer: Type.String(),
    contentType: ['application/gzip', 'application/x-tar', 'application/zip'],
    errors: [400, 401, 404, 409],
  },
  'GET /v1/runs/{run_id}/diff': {
    tag: 'runs',
    summary: "What changed in a run's files between two events",
    description:
      'A list of files, or with `format=patch` a unified diff that `git apply` takes. If `from` is later than `to`, it is the reverse.',
    query: {
      from: Type.Integer({
        minimum: -1,
        maximum: MAX_SEQ,
        description: 'The seq of an event; by default the start of the run',
      }),
      to: Type.Integer({
        minimum: -1,
        maximum: MAX_SEQ,
        description: 'The seq of an event; by default the last checkpoint',
      }),
      path: Type.String({ description: 'Only this file, or what is in this directory' }),
      format: Type.Literal('patch'),
    },
    answer: schemas.RunDiffSchema,
    contentType: ['application/json', 'text/x-diff'],
    errors: [400, 401, 404, 409],
  },
};
