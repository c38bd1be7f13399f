/** `POST /v1/completions` and `POST /v1/embeddings`, in OpenAI's shapes. */
import Type from 'typebox';
import { ChatUsageSchema } from './chat.ts';
import { MayBeNull, NOT_BLANK } from './request-fields.ts';

const Count = Type.Integer({ minimum: 0 });

export const CompletionRequestSchema = Type.Object({
  prompt: Type.Union([
    Type.String({ pattern: NOT_BLANK }),
    Type.Array(Type.String({ pattern: NOT_BLANK }), { minItems: 1, maxItems: 1 }),
  ]),
  model: MayBeNull(Type.String()),
  stream: MayBeNull(Type.Boolean()),
  echo: MayBeNull(Type.Boolean({ description: 'The text starts with the prompt' })),
});

/** Also the shape of a stream's chunks; the last chunk has the usage. */
export const CompletionSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('text_completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      text: Type.String(),
      index: Count,
      logprobs: Type.Null(),
      finish_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  usage: Type.Optional(ChatUsageSchema),
});

export const EmbeddingRequestSchema = Type.Object({
  input: Type.Union([Type.String(), Type.Array(Type.Unknown())]),
  model: Type.Optional(Type.String()),
});

export const EmbeddingListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      object: Type.Literal('embedding'),
      index: Count,
      embedding: Type.Union([Type.Array(Type.Number()), Type.String({ description: 'base64' })]),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Count, total_tokens: Count }),
});
