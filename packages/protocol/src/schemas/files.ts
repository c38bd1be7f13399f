/** `/v1/files`: what clients upload, in OpenAI's shapes. */
import Type from 'typebox';

export const FileSchema = Type.Object({
  id: Type.String({ pattern: '^file-[0-9a-f]{32}$' }),
  object: Type.Literal('file'),
  bytes: Type.Integer({ minimum: 0 }),
  created_at: Type.Integer({ description: 'Seconds since the epoch' }),
  filename: Type.String(),
  purpose: Type.String({ description: 'As it was given; the server makes no use of it' }),
  status: Type.Literal('processed', { description: 'Always: a file can be used as soon as it is there' }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});

export const FileListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(FileSchema),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
  next_cursor: Type.Union([Type.String(), Type.Null()], {
    description: 'For `after`: as `last_id`, if there is more',
  }),
});

export const FileDeletedSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('file'),
  deleted: Type.Literal(true),
});

/** The fields of the multipart form. */
export const CreateFileRequestSchema = Type.Object({
  file: Type.String({ format: 'binary', description: 'The bytes, with a file name' }),
  purpose: Type.Optional(Type.String({ maxLength: 100, default: 'user_data' })),
});
