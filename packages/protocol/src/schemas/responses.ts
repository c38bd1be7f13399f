/**
 * `/v1/responses`, in OpenAI's shapes. Required fields are those that every Hermes server sends. The optional ones are
 * those that OpenAI's own clients read as well, and Talaria always sends.
 */
import Type from 'typebox';
import { MayBeNull, NO_CONTROLS, NOT_BLANK, OutputFormatField, ToolChoiceField } from './request-fields.ts';
import { ApprovalRequestSchema, MessageSchema, ModelSettingsFields, UsageSchema } from './runs.ts';

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
  Type.Object({ type: Type.Literal('item_reference'), id: Type.String() }),
  Type.Object({ type: Type.String({ description: 'Any other item of an earlier response' }) }),
]);

const ConversationName = Type.String({ maxLength: 256, pattern: NO_CONTROLS });

export const ResponseRequestSchema = Type.Object({
  input: Type.Union([
    Type.String({ pattern: NOT_BLANK }),
    Type.Array(ResponseInputItemSchema, { minItems: 1 }),
  ]),
  instructions: Type.Optional(Nullable(Type.String())),
  previous_response_id: Type.Optional(
    Nullable(Type.String({ description: 'Continue this response. Not together with conversation' })),
  ),
  conversation: Type.Optional(
    Nullable(
      Type.Union([ConversationName, Type.Object({ id: ConversationName })], { description: 'A session' }),
    ),
  ),
  conversation_history: MayBeNull(Type.Array(MessageSchema)),
  store: Type.Optional(Nullable(Type.Boolean({ default: true }))),
  background: Type.Optional(
    Nullable(
      Type.Boolean({
        description: 'Answer at once; the response keeps running, whether or not anybody watches it',
      }),
    ),
  ),
  truncation: Type.Optional(
    Nullable(
      Type.Union([Type.Literal('auto'), Type.Literal('disabled')], {
        description: 'auto: keep only the last 100 earlier messages',
      }),
    ),
  ),
  metadata: Type.Optional(Nullable(Type.Record(Type.String(), Type.String()))),
  model: MayBeNull(Type.String()),
  stream: Type.Optional(Nullable(Type.Boolean())),
  tools: Type.Optional(
    Nullable(
      Type.Array(Type.Unknown(), { description: 'Functions the client runs itself; others are ignored' }),
    ),
  ),
  tool_choice: ToolChoiceField,
  parallel_tool_calls: Type.Optional(Nullable(Type.Boolean())),
  text: Type.Optional(
    Nullable(
      Type.Object({
        format: OutputFormatField,
        verbosity: ModelSettingsFields.verbosity,
      }),
    ),
  ),
  reasoning: Type.Optional(Nullable(Type.Object({ effort: ModelSettingsFields.reasoning_effort }))),
  temperature: ModelSettingsFields.temperature,
  top_p: ModelSettingsFields.top_p,
  max_output_tokens: ModelSettingsFields.max_output_tokens,
  service_tier: ModelSettingsFields.service_tier,
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

export const ResponseSummarySchema = Type.Object({ type: Type.Literal('summary_text'), text: Type.String() });

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
  Type.Object({
    type: Type.Literal('mcp_call', { description: 'A call that the server itself runs' }),
    id: Type.Optional(Type.String()),
    status: Type.Optional(Type.Union([ItemStatus, Type.Literal('failed')])),
    server_label: Type.String(),
    name: Type.String(),
    arguments: Type.String({ description: 'JSON, with secrets masked' }),
    output: Type.Optional(Nullable(Type.String())),
    error: Type.Optional(Nullable(Type.String({ description: 'The error of a call that failed' }))),
    approval_request_id: Type.Optional(Nullable(Type.String())),
  }),
  Type.Object({
    type: Type.Literal('reasoning'),
    ...itemFields,
    summary: Type.Array(ResponseSummarySchema),
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
  temperature: Type.Optional(Nullable(Type.Number())),
  top_p: Type.Optional(Nullable(Type.Number())),
  max_output_tokens: Type.Optional(Nullable(Type.Integer())),
  service_tier: Type.Optional(Nullable(Type.String())),
  reasoning: Type.Optional(
    Nullable(Type.Object({ effort: Nullable(Type.String()), summary: Type.Optional(Type.Null()) })),
  ),
  tool_choice: Type.Optional(
    Type.Union([Type.String(), Type.Object({ type: Type.Literal('function'), name: Type.String() })]),
  ),
  tools: Type.Optional(Type.Array(Type.Unknown(), { description: "The client's functions" })),
  text: Type.Optional(
    Type.Object({
      format: Type.Object({
        type: Type.String({ description: 'text, json_object or json_schema' }),
        name: Type.Optional(Type.String()),
        description: Type.Optional(Type.String()),
        schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        strict: Type.Optional(Nullable(Type.Boolean())),
      }),
      verbosity: Type.Optional(Nullable(Type.String())),
    }),
  ),
  run_id: Type.Optional(Type.String({ description: 'The run behind this response, under /v1/runs' })),
  session_id: Type.Optional(Type.String()),
  approval: Type.Optional(
    Nullable(
      Type.Intersect([ApprovalRequestSchema], {
        description: 'The approval that waits for an answer at /v1/runs/{run_id}/approval',
      }),
    ),
  ),
});

export const ResponseDeletedSchema = Type.Object({
  id: Type.String(),
  object: Type.String(),
  deleted: Type.Boolean(),
});

export const ResponseItemListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Type.Object({ id: Type.String(), type: Type.String() })),
  first_id: Nullable(Type.String()),
  last_id: Nullable(Type.String()),
  has_more: Type.Boolean(),
});

export const ResponseInputTokensSchema = Type.Object({
  object: Type.Literal('response.input_tokens'),
  input_tokens: Type.Integer({
    minimum: 0,
    description: 'An estimate, without the tokens that the agent adds',
  }),
});

const Metadata = Type.Record(Type.String(), Type.String());
const Items = Type.Array(Type.Unknown(), { description: 'Items as in the input of a response' });

export const ConversationSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation'),
  created_at: Type.Integer(),
  metadata: Metadata,
});

export const CreateConversationRequestSchema = Type.Object({
  metadata: Type.Optional(Nullable(Metadata)),
  items: Type.Optional(Nullable(Items)),
});

export const UpdateConversationRequestSchema = Type.Object({ metadata: Nullable(Metadata) });

export const ConversationItemsRequestSchema = Type.Object({ items: Items });

export const ConversationDeletedSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation.deleted'),
  deleted: Type.Boolean(),
});

const place = { item_id: Type.String(), output_index: Count, content_index: Count };
const item = { output_index: Count, item: ResponseItemSchema };
const itemPlace = { item_id: Type.String(), output_index: Count };
const summaryPlace = { ...itemPlace, summary_index: Count };
const response = { response: ResponseObjectSchema };
/** Always empty; OpenAI's clients expect the list. */
const logprobs = { logprobs: Type.Optional(Type.Array(Type.Unknown())) };

/** The fields of each stream event by type, in addition to `type` and `sequence_number`. */
export const RESPONSE_EVENT_PAYLOADS = {
  'response.created': Type.Object(response),
  'response.in_progress': Type.Object(response),
  'response.output_item.added': Type.Object(item),
  'response.content_part.added': Type.Object({ ...place, part: ResponseTextSchema }),
  'response.output_text.delta': Type.Object({ ...place, delta: Type.String(), ...logprobs }),
  'response.output_text.done': Type.Object({ ...place, text: Type.String(), ...logprobs }),
  'response.content_part.done': Type.Object({ ...place, part: ResponseTextSchema }),
  'response.function_call_arguments.delta': Type.Object({ ...itemPlace, delta: Type.String() }),
  'response.function_call_arguments.done': Type.Object({
    ...itemPlace,
    name: Type.Optional(Type.String()),
    arguments: Type.String(),
  }),
  'response.mcp_call.in_progress': Type.Object(itemPlace),
  'response.mcp_call_arguments.delta': Type.Object({ ...itemPlace, delta: Type.String() }),
  'response.mcp_call_arguments.done': Type.Object({ ...itemPlace, arguments: Type.String() }),
  'response.mcp_call.completed': Type.Object(itemPlace),
  'response.mcp_call.failed': Type.Object(itemPlace),
  'response.reasoning_summary_part.added': Type.Object({ ...summaryPlace, part: ResponseSummarySchema }),
  'response.reasoning_summary_text.delta': Type.Object({ ...summaryPlace, delta: Type.String() }),
  'response.reasoning_summary_text.done': Type.Object({ ...summaryPlace, text: Type.String() }),
  'response.reasoning_summary_part.done': Type.Object({ ...summaryPlace, part: ResponseSummarySchema }),
  'response.output_item.done': Type.Object(item),
  'response.completed': Type.Object(response),
  'response.incomplete': Type.Object(response),
  'response.failed': Type.Object(response),
} as const;
