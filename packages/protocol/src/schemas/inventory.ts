/** What the agent of a server has: skills, tools, directories, and the models a client can choose from. */
import Type from 'typebox';

export const SkillListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Type.String(),
      category: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    }),
  ),
});

export const ToolsetSchema = Type.Object({
  name: Type.String(),
  label: Type.String(),
  description: Type.String(),
  enabled: Type.Boolean({ description: 'Whether the agent can use its tools at the moment' }),
  configured: Type.Boolean(),
  tools: Type.Array(Type.String(), { description: 'The names that the model sees' }),
});

export const ToolsetListSchema = Type.Object({
  object: Type.Literal('list'),
  platform: Type.Literal('api_server'),
  data: Type.Array(ToolsetSchema),
});

export const DirectorySchema = Type.Object({
  object: Type.Literal('directory'),
  name: Type.String({ description: 'For `workspace.directory`' }),
  mode: Type.Union([Type.Literal('copy'), Type.Literal('mount')], {
    description: 'Whether a run gets a copy of it or works in the directory itself',
  }),
  fingerprint: Type.Union([Type.String(), Type.Null()], {
    description:
      'The same for the same directory of the same machine, and for no other: SHA-256 in hex of its boot id, device and inode. ' +
      'Null if runs get a copy, or the directory is not there',
  }),
});

export const DirectoryListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(DirectorySchema),
});

export const ModelOptionsSchema = Type.Object({
  model: Type.String({ description: 'The one in use' }),
  provider: Type.String(),
  providers: Type.Array(
    Type.Object({
      slug: Type.String(),
      name: Type.String(),
      is_current: Type.Boolean(),
      is_user_defined: Type.Boolean(),
      authenticated: Type.Boolean(),
      models: Type.Array(Type.String()),
      total_models: Type.Integer({ minimum: 0 }),
    }),
  ),
});
