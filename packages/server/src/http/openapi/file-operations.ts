/** The routes of uploaded files, for the OpenAPI document. */
import * as schemas from '@talaria/protocol/schemas';
import Type from 'typebox';
import type { Operation } from './operation.ts';

export const FILE_OPERATIONS: Record<string, Operation> = {
  'POST /v1/files': {
    tag: 'openai',
    summary: 'Upload a file',
    description: 'The file is there as a whole or not at all. It is kept until it is deleted.',
    body: schemas.CreateFileRequestSchema,
    bodyType: 'multipart/form-data',
    answer: schemas.FileSchema,
    errors: [400, 401, 413, 415, 503],
  },
  'GET /v1/files': {
    tag: 'openai',
    summary: 'List the files of the key, newest first',
    query: {
      after: Type.String({
        description: 'The id of a file, which may be deleted by now: only those after it',
      }),
      limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000 }),
      order: Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'desc' }),
      purpose: Type.String({ description: 'Only files of this purpose' }),
    },
    answer: schemas.FileListSchema,
    errors: [400, 401],
  },
  'GET /v1/files/{file_id}': {
    tag: 'openai',
    summary: 'Get a file, without its content',
    answer: schemas.FileSchema,
    errors: [401, 404],
  },
  'GET /v1/files/{file_id}/content': {
    tag: 'openai',
    summary: 'Get the content of a file',
    description: 'The whole file, or a part of it with a range (206). HEAD gives only the headers.',
    headers: {
      Range: Type.String({ description: 'bytes=first-last, bytes=first- or bytes=-count' }),
      'If-Range': Type.String(),
      'If-None-Match': Type.String(),
    },
    answer: Type.String(),
    contentType: 'application/octet-stream',
    also: { 206: 'The range', 304: 'The version that the client has' },
    errors: [401, 404, 416],
  },
  'DELETE /v1/files/{file_id}': {
    tag: 'openai',
    summary: 'Delete a file',
    description: 'Runs that were given the file keep it.',
    answer: schemas.FileDeletedSchema,
    errors: [401, 404],
  },
};
