/** `/v1/responses`, in OpenAI's shapes. */
import Type from 'typebox';
import { MessageSchema, UsageSchema } from './runs.ts';

const Count = Type.Integer({ minimum: 0 });

export const ResponseRequestSchema = Type.Object({
  input: Type.Union([Type.String(), Type.Array(MessageSchema)]),
  instructions: Type.Optional(Type.String()),
  previous_response_id: Type.Optional(Type.String()),
  conversation: Type.Optional(Type.String()),
  conversation_history: Type.Optional(Type.Array(MessageSchema)),
  store: Type.Optional(Type.Boolean()),
  truncation: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  stream: Type.Optional(Type.Boolean()),
});

export const ResponseItemSchema = Type.Union([
  Type.Object({
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    content: Type.Array(Type.Object({ type: Type.Literal('output_text'), text: Type.String() })),
  }),
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
]);

export const ResponseObjectSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  status: Type.String(),
  created_at: Type.Number(),
  model: Type.String(),
  output: Type.Array(ResponseItemSchema),
  usage: Type.Optional(UsageSchema),
  error: Type.Optional(Type.Unknown()),
});

export const ResponseDeletedSchema = Type.Object({
  id: Type.String(),
  object: Type.String(),
  deleted: Type.Boolean(),
});

const place = { item_id: Type.String(), output_index: Count, content_index: Count };
const item = { output_index: Count, item: ResponseItemSchema };
const response = { response: ResponseObjectSchema };

/** What stands in each event of the stream beside `type` and `sequence_number`, by type. */
export const RESPONSE_EVENT_PAYLOADS = {
  'response.created': Type.Object(response),
  'response.output_item.added': Type.Object(item),
  'response.output_text.delta': Type.Object({ ...place, delta: Type.String() }),
  'response.output_text.done': Type.Object({ ...place, text: Type.String() }),
  'response.output_item.done': Type.Object(item),
  'response.completed': Type.Object(response),
  'response.failed': Type.Object(response),
} as const;
