/** `POST /v1/chat/completions`, in OpenAI's shapes. */
import Type from 'typebox';
import { ApprovalRequestSchema, EVENT_PAYLOADS } from './runs.ts';

const Count = Type.Integer({ minimum: 0 });

export const ChatMessageSchema = Type.Object({
  role: Type.String(),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Unknown()), Type.Null()])),
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
        refusal: Type.Optional(Type.Null()),
      }),
      logprobs: Type.Optional(Type.Null()),
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
        reasoning_content: Type.Optional(
          Type.String({ description: 'What the model thought, step by step' }),
        ),
      }),
      finish_reason: FinishReason,
    }),
  ),
  usage: Type.Optional(Type.Union([ChatUsageSchema, Type.Null()])),
});

/** The data of a frame named `hermes.tool.progress`. It also has the fields of a chunk, with no choice. */
export const ToolProgressSchema = Type.Object({
  tool: Type.String(),
  label: Type.String(),
  toolCallId: Type.String(),
  status: Type.Union([Type.Literal('running'), Type.Literal('completed')]),
});

const { choices: approval_choices, ...asked } = ApprovalRequestSchema.properties;

/**
 * The data of a frame named `hermes.approval.request`: what has to be answered at `/v1/runs/{run_id}/approval`. Of a chunk,
 * which each frame is as well, `choices` are something else.
 */
export const ChatApprovalRequestSchema = Type.Object({
  run_id: Type.String(),
  ...asked,
  approval_choices,
});

/** The data of a frame named `hermes.approval.responded`. */
export const ChatApprovalRespondedSchema = Type.Object({
  run_id: Type.String(),
  ...EVENT_PAYLOADS['approval.responded'].properties,
});
