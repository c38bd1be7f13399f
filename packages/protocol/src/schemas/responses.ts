/**
 * `/v1/responses`, in OpenAI's shapes. What has to be there is what every Hermes server sends; the rest is what OpenAI's
 * own clients read beside it, and Talaria always sends.
 */
import Type from 'typebox';
import { ApprovalRequestSchema, MessageSchema, UsageSchema } from './runs.ts';

const Count = Type.Integer({ minimum: 0 });
const Nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const ResponseInputItemSchema = Type.Union([
  MessageSchema,
  Type.Object({
    type: Type.Literal('function_call'),
    call_id: Type.String(),
    name: Type.String(),
    arguments: Type.String(),
  }),
  Type.Object({
    type: Type.Literal('function_call_output'),
    call_id: Type.String(),
    output: Type.Union([Type.String(), Type.Array(Type.Unknown())]),
  }),
  Type.Object({ type: Type.Literal('reasoning') }),
]);

export const ResponseRequestSchema = Type.Object({
  input: Type.Union([Type.String(), Type.Array(ResponseInputItemSchema)]),
  instructions: Type.Optional(Nullable(Type.String())),
  previous_response_id: Type.Optional(
    Nullable(Type.String({ description: 'Go on from this response. Not together with conversation' })),
  ),
  conversation: Type.Optional(
    Nullable(Type.Union([Type.String(), Type.Object({ id: Type.String() })], { description: 'A session' })),
  ),
  conversation_history: Type.Optional(Type.Array(MessageSchema)),
  store: Type.Optional(Nullable(Type.Boolean({ default: true }))),
  background: Type.Optional(
    Nullable(Type.Boolean({ description: 'Answer at once; the response goes on whoever watches it' })),
  ),
  truncation: Type.Optional(
    Nullable(
      Type.Union([Type.Literal('auto'), Type.Literal('disabled')], {
        description: 'auto: of what was said before, the last 100 messages',
      }),
    ),
  ),
  metadata: Type.Optional(Nullable(Type.Record(Type.String(), Type.String()))),
  model: Type.Optional(Type.String()),
  stream: Type.Optional(Nullable(Type.Boolean())),
});

export const ResponseStatusSchema = Type.Union([
  Type.Literal('queued'),
  Type.Literal('in_progress'),
  Type.Literal('completed'),
  Type.Literal('failed'),
  Type.Literal('cancelled'),
  Type.Literal('incomplete'),
]);

const ItemStatus = Type.Union([
  Type.Literal('in_progress'),
  Type.Literal('completed'),
  Type.Literal('incomplete'),
]);
const itemFields = { id: Type.Optional(Type.String()), status: Type.Optional(ItemStatus) };

export const ResponseTextSchema = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Optional(Type.Array(Type.Unknown())),
});

export const ResponseItemSchema = Type.Union([
  Type.Object({
    type: Type.Literal('message'),
    ...itemFields,
    role: Type.Literal('assistant'),
    content: Type.Array(ResponseTextSchema),
  }),
  Type.Object({
    type: Type.Literal('function_call'),
    ...itemFields,
    call_id: Type.String(),
    name: Type.String(),
    arguments: Type.String({ description: 'JSON, with secrets masked' }),
  }),
  Type.Object({
    type: Type.Literal('function_call_output'),
    ...itemFields,
    call_id: Type.String(),
    output: Type.Union([Type.String(), Type.Array(Type.Unknown())]),
  }),
]);

export const ResponseUsageSchema = Type.Intersect([
  UsageSchema,
  Type.Object({
    input_tokens_details: Type.Optional(Type.Object({ cached_tokens: Count })),
    output_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: Count })),
  }),
]);

export const ResponseErrorSchema = Type.Object({ code: Type.String(), message: Type.String() });

export const ResponseObjectSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  status: ResponseStatusSchema,
  created_at: Type.Number(),
  completed_at: Type.Optional(Nullable(Type.Number())),
  model: Type.String(),
  output: Type.Array(ResponseItemSchema),
  usage: Type.Optional(Nullable(ResponseUsageSchema)),
  error: Type.Optional(Nullable(ResponseErrorSchema)),
  incomplete_details: Type.Optional(Nullable(Type.Object({ reason: Type.String() }))),
  instructions: Type.Optional(Nullable(Type.String())),
  metadata: Type.Optional(Nullable(Type.Record(Type.String(), Type.String()))),
  previous_response_id: Type.Optional(Nullable(Type.String())),
  conversation: Type.Optional(Nullable(Type.Object({ id: Type.String() }))),
  background: Type.Optional(Type.Boolean()),
  store: Type.Optional(Type.Boolean()),
  truncation: Type.Optional(Type.Union([Type.Literal('auto'), Type.Literal('disabled')])),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Null()),
  top_p: Type.Optional(Type.Null()),
  tool_choice: Type.Optional(Type.String()),
  tools: Type.Optional(Type.Array(Type.Unknown())),
  text: Type.Optional(Type.Object({ format: Type.Object({ type: Type.Literal('text') }) })),
  run_id: Type.Optional(Type.String({ description: 'The run this is, under /v1/runs' })),
  session_id: Type.Optional(Type.String()),
  approval: Type.Optional(
    Nullable(
      Type.Intersect([ApprovalRequestSchema], {
        description: 'What waits for an answer at /v1/runs/{run_id}/approval',
      }),
    ),
  ),
});

export const ResponseDeletedSchema = Type.Object({
  id: Type.String(),
  object: Type.String(),
  deleted: Type.Boolean(),
});

const place = { item_id: Type.String(), output_index: Count, content_index: Count };
const item = { output_index: Count, item: ResponseItemSchema };
const response = { response: ResponseObjectSchema };
/** There are none; OpenAI's clients count on the list. */
const logprobs = { logprobs: Type.Optional(Type.Array(Type.Unknown())) };

/** What stands in each event of the stream beside `type` and `sequence_number`, by type. */
export const RESPONSE_EVENT_PAYLOADS = {
  'response.created': Type.Object(response),
  'response.in_progress': Type.Object(response),
  'response.output_item.added': Type.Object(item),
  'response.content_part.added': Type.Object({ ...place, part: ResponseTextSchema }),
  'response.output_text.delta': Type.Object({ ...place, delta: Type.String(), ...logprobs }),
  'response.output_text.done': Type.Object({ ...place, text: Type.String(), ...logprobs }),
  'response.content_part.done': Type.Object({ ...place, part: ResponseTextSchema }),
  'response.function_call_arguments.delta': Type.Object({
    item_id: Type.String(),
    output_index: Count,
    delta: Type.String(),
  }),
  'response.function_call_arguments.done': Type.Object({
    item_id: Type.String(),
    output_index: Count,
    name: Type.Optional(Type.String()),
    arguments: Type.String(),
  }),
  'response.output_item.done': Type.Object(item),
  'response.completed': Type.Object(response),
  'response.incomplete': Type.Object(response),
  'response.failed': Type.Object(response),
} as const;
