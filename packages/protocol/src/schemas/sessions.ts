/** `/api/sessions`: transcripts, by `session_id`. */
import Type from 'typebox';

const Count = Type.Integer({ minimum: 0 });
const EpochSeconds = Type.Number({ description: 'Seconds since the epoch, fractional' });
const OrNull = Type.Union([Type.String(), Type.Null()]);

export const SessionSchema = Type.Object({
  object: Type.Literal('hermes.session'),
  session_id: Type.String(),
  created_at: EpochSeconds,
  updated_at: Type.Number({ description: 'When a run was last started in it, or a turn joined' }),
  message_count: Count,
  context_from: Type.Integer({ minimum: 0, description: 'The index from which messages are context' }),
  turns: Count,
  last_run_id: OrNull,
  forked_from: OrNull,
});

export const SessionListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(SessionSchema),
  has_more: Type.Boolean(),
  next_cursor: OrNull,
});

/** A message in OpenAI's shape, and where it stands. */
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
  name: Type.Optional(Type.String({ description: 'The tool a result came from' })),
  run_id: Type.String(),
  created_at: EpochSeconds,
});

export const SessionMessageListSchema = Type.Object({
  object: Type.Literal('list'),
  session_id: Type.String(),
  data: Type.Array(SessionMessageSchema),
  has_more: Type.Boolean(),
  next_cursor: OrNull,
});

export const SessionDeletedSchema = Type.Object({ ok: Type.Literal(true) });

export const ForkSessionRequestSchema = Type.Object({
  session_id: Type.Optional(Type.String({ description: 'The name of the new session; one is made up' })),
  messages: Type.Optional(
    Type.Integer({ minimum: 0, description: 'How many messages it begins with; all of them' }),
  ),
});
