/** `POST /v1/chat/completions`, in OpenAI's shapes. */
import Type from 'typebox';
import { MayBeNull, OutputFormatField, ToolChoiceField } from './request-fields.ts';
import { ApprovalRequestSchema, EVENT_PAYLOADS, ModelSettingsFields } from './runs.ts';

const Count = Type.Integer({ minimum: 0 });

export const ChatMessageSchema = Type.Object({
  role: Type.String(),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Unknown()), Type.Null()])),
  tool_calls: Type.Optional(Type.Array(Type.Unknown())),
  tool_call_id: Type.Optional(Type.String()),
});

export const ChatToolCallSchema = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String({ description: 'JSON' }) }),
});

const ChatFunctionCallSchema = ChatToolCallSchema.properties.function;

export const ChatRequestSchema = Type.Object({
  messages: Type.Array(ChatMessageSchema, { minItems: 1 }),
  model: MayBeNull(Type.String()),
  stream: MayBeNull(Type.Boolean()),
  tools: MayBeNull(Type.Array(Type.Unknown()), { description: 'Functions the client runs itself' }),
  tool_choice: ToolChoiceField,
  parallel_tool_calls: MayBeNull(Type.Boolean()),
  response_format: OutputFormatField,
  ...ModelSettingsFields,
});

export const ChatUsageSchema = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_tokens_details: Type.Optional(Type.Object({ cached_tokens: Count })),
  completion_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: Count })),
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
        reasoning_content: Type.Optional(Type.String()),
        tool_calls: Type.Optional(Type.Array(ChatToolCallSchema)),
        function_call: Type.Optional(ChatFunctionCallSchema),
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
        reasoning_content: Type.Optional(Type.String({ description: "The model's reasoning, step by step" })),
        tool_calls: Type.Optional(
          Type.Array(Type.Intersect([Type.Object({ index: Count }), ChatToolCallSchema])),
        ),
        function_call: Type.Optional(ChatFunctionCallSchema),
      }),
      finish_reason: FinishReason,
    }),
  ),
  usage: Type.Optional(Type.Union([ChatUsageSchema, Type.Null()])),
});

/** The data of a frame named `hermes.tool.progress`. It also has the fields of a chunk, whose delta is empty. */
export const ToolProgressSchema = Type.Object({
  tool: Type.String(),
  label: Type.String(),
  toolCallId: Type.String(),
  status: Type.Union([Type.Literal('running'), Type.Literal('completed')]),
});

const { choices: approval_choices, ...asked } = ApprovalRequestSchema.properties;

/**
 * The data of a frame named `hermes.approval.request`: the approval to answer at `/v1/runs/{run_id}/approval`. Each
 * frame is also a chunk, whose `choices` mean something else, so the choices of the approval are `approval_choices`.
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
