/** `/v1/approvals` and `/v1/grants`: questions to people across runs, and what their answers allow. */
import Type from 'typebox';
import { AnsweredBySchema, ApprovalChoiceSchema, ApprovalRequestSchema, RunSchema } from './runs.ts';

const EpochSeconds = Type.Number({ description: 'Seconds since the epoch, fractional' });
const GrantId = Type.String({ pattern: '^grt_[0-9a-f]{32}$' });

export const ApprovalSchema = Type.Object({
  ...ApprovalRequestSchema.properties,
  object: Type.Literal('hermes.approval'),
  status: Type.Union([Type.Literal('pending'), Type.Literal('answered')]),
  expires_at: Type.Optional(
    Type.Number({
      description: 'Missing where one answer settled the question together with the one before it',
    }),
  ),
  run: Type.Object(RunSchema.properties, { description: 'The head of the run: without its output' }),
  choice: Type.Optional(ApprovalChoiceSchema),
  answered_by: Type.Optional(AnsweredBySchema),
  answered_at: Type.Optional(EpochSeconds),
  message: Type.Optional(Type.String({ description: 'Why it was denied' })),
});

const Page = { has_more: Type.Boolean(), next_cursor: Type.Union([Type.String(), Type.Null()]) };

export const ApprovalListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(ApprovalSchema),
  ...Page,
});

export const GrantSchema = Type.Object({
  object: Type.Literal('hermes.grant'),
  id: GrantId,
  scope: Type.Union([Type.Literal('session'), Type.Literal('always')]),
  session_id: Type.Optional(Type.String()),
  pattern_key: Type.String(),
  created_at: EpochSeconds,
  created_by: Type.String({ description: 'The name of the API key that gave it' }),
  last_used_at: Type.Union([EpochSeconds, Type.Null()], {
    description: 'When it last let a call through, to the minute',
  }),
});

export const GrantListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(GrantSchema),
  ...Page,
});

export const GrantDeletedSchema = Type.Object({
  object: Type.Literal('hermes.grant'),
  id: GrantId,
  deleted: Type.Literal(true),
});
