/** `POST /v1/chat/completions`, in OpenAI's shapes. */
import Type from 'typebox';

const Count = Type.Integer({ minimum: 0 });

export const ChatMessageSchema = Type.Object({
  role: Type.String(),
  content: Type.Union([Type.String(), Type.Array(Type.Unknown()), Type.Null()]),
});

export const ChatRequestSchema = Type.Object({
  messages: Type.Array(ChatMessageSchema),
  model: Type.Optional(Type.String()),
  stream: Type.Optional(Type.Boolean()),
});

export const ChatUsageSchema = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
});

const FinishReason = Type.Union([Type.String(), Type.Null()]);

export const ChatCompletionSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Count,
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: Type.Union([Type.String(), Type.Null()]),
      }),
      finish_reason: FinishReason,
    }),
  ),
  usage: ChatUsageSchema,
});

export const ChatCompletionChunkSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion.chunk'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Count,
      delta: Type.Object({
        role: Type.Optional(Type.String()),
        content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      }),
      finish_reason: FinishReason,
    }),
  ),
  usage: Type.Optional(Type.Union([ChatUsageSchema, Type.Null()])),
});

/** The data of a frame named `hermes.tool.progress`. */
export const ToolProgressSchema = Type.Object({
  tool: Type.String(),
  label: Type.String(),
  toolCallId: Type.String(),
  status: Type.Union([Type.Literal('running'), Type.Literal('completed')]),
});
