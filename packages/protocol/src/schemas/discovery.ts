/** What a server reports about itself: models, capabilities, health. */
import Type from 'typebox';

export const ModelSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
  permission: Type.Array(Type.Unknown()),
  root: Type.String(),
  parent: Type.Union([Type.String(), Type.Null()]),
});

export const ModelListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(ModelSchema),
});

export const CapabilitiesSchema = Type.Object({
  object: Type.Literal('hermes.api_server.capabilities'),
  platform: Type.String(),
  model: Type.String(),
  auth: Type.Object({ type: Type.String(), required: Type.Boolean() }),
  runtime: Type.Object({
    mode: Type.String(),
    tool_execution: Type.String(),
    split_runtime: Type.Boolean(),
    description: Type.String(),
  }),
  features: Type.Record(Type.String(), Type.Boolean()),
  endpoints: Type.Record(Type.String(), Type.Object({ method: Type.String(), path: Type.String() })),
});

export const HealthSchema = Type.Object({
  status: Type.String(),
  platform: Type.String(),
  version: Type.String(),
});

export const HealthReadySchema = Type.Object({
  status: Type.String({ description: '`ready`, or `draining` with the status 503' }),
});

export const HealthDetailedSchema = Type.Object({
  ...HealthSchema.properties,
  role: Type.Optional(
    Type.String({
      description: 'What the process does: `all`, `http` (serves clients) or `work` (works on runs)',
    }),
  ),
  gateway_state: Type.String(),
  active_agents: Type.Integer({ minimum: 0 }),
  platforms: Type.Record(Type.String(), Type.Object({ state: Type.String() })),
  webhooks: Type.Optional(
    Type.Object({
      pending: Type.Integer({ minimum: 0, description: 'Messages still to be delivered' }),
      failed: Type.Integer({
        minimum: 0,
        description: 'Messages whose delivery was given up in the last week',
      }),
    }),
  ),
  pid: Type.Integer(),
  updated_at: Type.String({ description: 'ISO 8601' }),
  readiness: Type.Object({
    status: Type.String(),
    checks: Type.Record(Type.String(), Type.Object({ status: Type.String(), detail: Type.String() })),
  }),
});
