/** `/api/sessions`: transcripts, by `session_id`. */
import Type, { type TSchema } from 'typebox';
import { MayBeNull, NO_CONTROLS, NOT_BLANK } from './request-fields.ts';
import { UsageSchema } from './runs.ts';

const Count = Type.Integer({ minimum: 0 });
const EpochSeconds = Type.Number({ description: 'Seconds since the epoch, fractional' });
const OrNull = Type.Union([Type.String(), Type.Null()]);
const Label = Type.String({ maxLength: 256, pattern: NO_CONTROLS });
const Title = Type.String({ maxLength: 100 });
const NewName = (description: string) => MayBeNull(Label, { description });
const CountOrNull = Type.Union([Count, Type.Null()], {
  description: 'null for a session from before tokens were counted',
});

export const SessionSchema = Type.Object({
  object: Type.Literal('hermes.session'),
  session_id: Type.String(),
  created_at: EpochSeconds,
  updated_at: Type.Number({ description: 'When the last run of the session started, or a turn was added' }),
  message_count: Count,
  context_from: Type.Integer({ minimum: 0, description: 'The index of the first message that is context' }),
  turns: Count,
  last_run_id: OrNull,
  forked_from: OrNull,
  id: Type.String({ description: 'The same as session_id' }),
  title: OrNull,
  source: Type.String(),
  model: Type.String(),
  user_id: Type.Null(),
  started_at: Type.Number({ description: 'The same as created_at' }),
  last_active: Type.Number({ description: 'The same as updated_at' }),
  ended_at: Type.Union([EpochSeconds, Type.Null()]),
  end_reason: OrNull,
  parent_session_id: Type.Union([Type.String(), Type.Null()], { description: 'The same as forked_from' }),
  preview: Type.Union([Type.String(), Type.Null()], {
    description: 'The beginning of the first user message',
  }),
  tool_call_count: CountOrNull,
  input_tokens: CountOrNull,
  output_tokens: CountOrNull,
  pinned: Type.Boolean(),
  archived: Type.Boolean(),
  hidden: Type.Boolean({ description: 'Hidden from the list' }),
  unread: Type.Boolean(),
  has_system_prompt: Type.Boolean(),
  has_model_config: Type.Literal(false),
});

/** One session: its fields, and the same values again under the names that Hermes clients read. */
export const SessionAnswerSchema = Type.Object({ ...SessionSchema.properties, session: SessionSchema });

/** A fork also says what its files are; one of an earlier version does not. */
export const ForkedSessionSchema = Type.Object({
  ...SessionAnswerSchema.properties,
  files_as_of: Type.Optional(
    Type.Union([Type.Literal('last_message'), Type.Literal('now')], {
      description:
        'Its files are as they were after its last message, or, if those are not kept, as the other session has them now',
    }),
  ),
});

export const SessionListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(SessionSchema),
  has_more: Type.Boolean(),
  next_cursor: OrNull,
  limit: Count,
  offset: Count,
});

/** A message in OpenAI's shape, with its position. */
export const SessionMessageSchema = Type.Object({
  index: Count,
  role: Type.Union([
    Type.Literal('system'),
    Type.Literal('user'),
    Type.Literal('assistant'),
    Type.Literal('tool'),
  ]),
  content: Type.Union([
    Type.String(),
    Type.Array(
      Type.Union([
        Type.Object({ type: Type.Literal('text'), text: Type.String() }),
        Type.Object({ type: Type.Literal('image_url'), image_url: Type.Object({ url: Type.String() }) }),
      ]),
    ),
    Type.Null(),
  ]),
  tool_calls: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        type: Type.Literal('function'),
        function: Type.Object({ name: Type.String(), arguments: Type.String() }),
      }),
    ),
  ),
  tool_call_id: Type.Optional(Type.String()),
  name: Type.Optional(Type.String({ description: 'The tool that gave this result' })),
  run_id: Type.String(),
  created_at: EpochSeconds,
  id: Type.Integer({ minimum: 0, description: 'The same as index' }),
  session_id: Type.String(),
  timestamp: Type.Number({ description: 'The same as created_at' }),
  tool_name: Type.Optional(Type.String({ description: 'The same as name' })),
});

export const SessionMessageListSchema = Type.Object({
  object: Type.Literal('list'),
  session_id: Type.String(),
  data: Type.Array(SessionMessageSchema),
  has_more: Type.Boolean(),
  next_cursor: OrNull,
  pagination: Type.Object({
    limit: Count,
    offset: Count,
    order: Type.Union([Type.Literal('oldest'), Type.Literal('latest')]),
    returned: Count,
  }),
});

export const SessionDeletedSchema = Type.Object({
  object: Type.Literal('hermes.session.deleted'),
  id: Type.String(),
  deleted: Type.Literal(true),
  ok: Type.Literal(true),
});

export const CreateSessionRequestSchema = Type.Object({
  id: NewName('Its name; the server makes one up by default. Or session_id'),
  session_id: NewName('The same as id'),
  title: MayBeNull(Title),
  system_prompt: MayBeNull(Type.String({ pattern: '^[^\\u0000]*$' }), {
    description: 'Instructions for every run of the session; never shown',
  }),
  source: MayBeNull(Label),
  model: MayBeNull(Label),
  require_model_lock: MayBeNull(Type.Boolean({ description: 'true needs a model' })),
});

export const UpdateSessionRequestSchema = Type.Object(
  {
    title: MayBeNull(Title),
    end_reason: MayBeNull(Label, { description: 'Ends the session; null opens it again' }),
    pinned: Type.Optional(Type.Boolean()),
    archived: Type.Optional(Type.Boolean()),
    hidden: Type.Optional(Type.Boolean()),
    unread: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

const ContentSchema = Type.Union([
  Type.String({ pattern: NOT_BLANK }),
  Type.Array(Type.Unknown(), { minItems: 1 }),
]);

export const SessionChatRequestSchema = Type.Object({
  message: MayBeNull(ContentSchema, { description: 'Text or parts. Or input' }),
  input: MayBeNull(ContentSchema),
  system_message: MayBeNull(Type.String({ description: 'For this turn only. Or instructions' })),
  instructions: MayBeNull(Type.String()),
});

export const SessionChatCompletionSchema = Type.Object({
  object: Type.Literal('hermes.session.chat.completion'),
  session_id: Type.String(),
  run_id: Type.String(),
  message: Type.Object({ role: Type.Literal('assistant'), content: Type.String() }),
  usage: UsageSchema,
  runtime: Type.Object({ model: Type.String() }),
});

const Told = { session_id: Type.String(), run_id: Type.String(), seq: Count, ts: EpochSeconds };
const told = <T extends string, P extends Record<string, TSchema>>(event: T, fields: P) =>
  Type.Object({ event: Type.Literal(event), ...Told, ...fields });
const OfMessage = { message_id: Type.String() };
const OfTool = {
  ...OfMessage,
  tool_name: Type.String(),
  tool_call_id: Type.String(),
  preview: Type.String(),
  args: Type.Unknown(),
};
const OfOutcome = { ...OfTool, duration: Type.Number(), exit_code: Type.Optional(Type.Integer()) };

/** A frame of the stream; `event` is the name in its `event:` line. */
export const SessionChatEventSchema = Type.Union([
  told('run.started', {
    user_message: Type.Object({ role: Type.Literal('user'), content: Type.Unknown() }),
  }),
  told('message.started', {
    message: Type.Object({ id: Type.String(), role: Type.Literal('assistant') }),
  }),
  told('assistant.delta', { ...OfMessage, delta: Type.String() }),
  told('tool.progress', { ...OfMessage, tool_name: Type.Literal('_thinking'), delta: Type.String() }),
  told('tool.started', OfTool),
  told('tool.completed', OfOutcome),
  told('tool.failed', OfOutcome),
  told('approval.request', { ...OfMessage, request_id: Type.String(), command: Type.String() }),
  told('approval.responded', { ...OfMessage, choice: Type.String() }),
  told('run.resumed', OfMessage),
  told('assistant.completed', {
    ...OfMessage,
    content: Type.String(),
    completed: Type.Boolean(),
    partial: Type.Boolean(),
    interrupted: Type.Boolean(),
  }),
  told('run.completed', { ...OfMessage, completed: Type.Literal(true), usage: UsageSchema }),
  told('run.failed', {
    ...OfMessage,
    completed: Type.Literal(false),
    error: Type.String(),
    error_code: Type.String(),
  }),
  told('run.cancelled', { ...OfMessage, completed: Type.Literal(false) }),
  told('error', { message: Type.String(), code: Type.String() }),
  told('done', {}),
]);

export const ForkSessionRequestSchema = Type.Object({
  session_id: NewName('The name of the new session; the server makes one up by default'),
  messages: MayBeNull(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
    description: 'How many messages the fork starts with; all by default',
  }),
  id: NewName('The same as session_id'),
  title: MayBeNull(Title),
});
