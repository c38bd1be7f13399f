/** Webhooks: what a request asks for, what a run shows, and what the receiver gets. */
import Type from 'typebox';

const Count = Type.Integer({ minimum: 0 });

export const WebhookRequestSchema = Type.Object({
  url: Type.String({
    maxLength: 2048,
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://.',
    description: 'http:// or https://, without user name or password',
  }),
  secret: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 256,
      description: 'Signs the messages: whsec_ and base64, or any text. Never shown again',
    }),
  ),
});

/** Without parts that may be secret: a path or a query may hold a token. */
export const RunWebhookSchema = Type.Object({
  origin: Type.String({ description: 'Scheme, host and port of the receiver' }),
  pending: Type.Integer({ minimum: 0, description: 'Messages not delivered yet' }),
  delivered: Count,
  failed: Type.Integer({ minimum: 0, description: 'Messages whose delivery was given up' }),
  last_error: Type.Union([Type.String(), Type.Null()]),
});

/** The body of a message. */
export const WebhookMessageSchema = Type.Object({
  id: Type.String({ pattern: '^evt_[0-9a-f]{32}_[0-9]+$', description: 'The same in every attempt' }),
  object: Type.Literal('event'),
  type: Type.Union([
    Type.Literal('run.completed'),
    Type.Literal('run.failed'),
    Type.Literal('run.cancelled'),
    Type.Literal('approval.request'),
  ]),
  created_at: Type.Number({ description: 'Seconds since the epoch, fractional' }),
  session_id: Type.String(),
  data: Type.Object({
    event: Type.String(),
    run_id: Type.String(),
    timestamp: Type.Number(),
    seq: Count,
  }),
});
