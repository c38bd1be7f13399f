/** The routes of slots, for the OpenAPI document. */
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import type { Operation } from './operation.ts';
import { FilePath, Path } from './shared-parts.ts';

/** 421: the process has no sandbox. On a server without slots all of them give 404. */
export const SLOT_OPERATIONS: Record<string, Operation> = {
  'GET /v1/slots': {
    tag: 'slots',
    summary: 'The slots that this key holds, and what it may have',
    answer: schemas.SlotListSchema,
    errors: [401, 404, 421],
  },
  'POST /v1/slots': {
    tag: 'slots',
    summary: 'Acquire a slot: an isolated workspace in which commands run',
    description: 'Waits for a free slot. When the client leaves, the wait ends and no slot is held.',
    body: schemas.AcquireSlotRequestSchema,
    optionalBody: true,
    answer: schemas.SlotSchema,
    errors: [400, 401, 404, 421, 429, 503],
  },
  'POST /v1/slots/execute': {
    tag: 'slots',
    summary: 'Run tool calls in slots, side by side',
    description:
      'The results are in the order of the requests. With `Accept: text/event-stream` each is sent as soon as it arrives. ' +
      'Calls that still run when the client leaves are ended.',
    body: schemas.ExecuteSlotsRequestSchema,
    answer: schemas.SlotResultsSchema,
    streams: true,
    errors: [400, 401, 404, 413, 421, 503],
  },
  'POST /v1/slots/{slot_id}/release': {
    tag: 'slots',
    summary: 'Release a slot; what runs in it is ended',
    body: schemas.ReleaseSlotRequestSchema,
    optionalBody: true,
    answer: schemas.SlotReleasedSchema,
    errors: [400, 401, 404, 421, 503],
  },
  'GET /v1/slots/{slot_id}/artifacts': {
    tag: 'slots',
    summary: 'List the files of a slot',
    query: {
      path: Path,
      recursive: Type.Boolean({ default: false }),
      max_entries: Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000 }),
    },
    answer: schemas.SlotArtifactListSchema,
    errors: [400, 401, 404, 421],
  },
  'GET /v1/slots/{slot_id}/artifacts/content': {
    tag: 'slots',
    summary: 'Get one file of a slot',
    description:
      'Its bytes, as for a run; or, with `encoding`, `max_bytes` or `include_sha256`, JSON with its content as text.',
    headers: {
      Range: Type.String({ description: 'bytes=first-last, bytes=first- or bytes=-count' }),
      'If-Range': Type.String(),
      'If-None-Match': Type.String(),
    },
    query: {
      path: FilePath,
      encoding: Type.Union([Type.Literal('text'), Type.Literal('base64')], { default: 'text' }),
      max_bytes: Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'A longer file is cut' }),
      include_sha256: Type.Boolean({ default: false }),
    },
    required: ['path'],
    answer: schemas.SlotArtifactSchema,
    contentType: ['application/json', 'application/octet-stream'],
    errors: [400, 401, 404, 409, 416, 421, 503],
  },
  'GET /v1/slots/{slot_id}/artifacts/archive': {
    tag: 'slots',
    summary: 'Get a directory of a slot as an archive',
    query: {
      path: Path,
      format: Type.Union(
        ['tar.gz', 'tgz', 'tar', 'zip'].map((format) => Type.Literal(format)),
        {
          default: 'tar.gz',
        },
      ),
      archive_format: Type.Union(
        ['tar.gz', 'tgz', 'tar', 'zip'].map((format) => Type.Literal(format)),
        { description: 'The same as format, for an archive in one piece' },
      ),
      max_bytes: Type.Integer({
        minimum: 1,
        maximum: 67_108_864,
        description: 'A larger archive is refused',
      }),
      max_entries: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    },
    answer: Type.String(),
    contentType: ['application/gzip', 'application/x-tar', 'application/zip'],
    errors: [400, 401, 404, 413, 421, 503],
  },
};
