/** `/v1/runs`: runs, their events and artifacts, and the error envelope. */
import Type from 'typebox';
import { APPROVAL_MESSAGE_MAX } from '../requests.ts';
import { MayBeNull, NO_CONTROLS, NOT_BLANK, ToolChoiceField } from './request-fields.ts';
import { RunWebhookSchema, WebhookRequestSchema } from './webhooks.ts';

const RunId = Type.String({ pattern: '^run_[0-9a-f]{32}$' });
const EpochSeconds = Type.Number({ description: 'Seconds since the epoch, fractional' });
const Count = Type.Integer({ minimum: 0 });

export const UsageSchema = Type.Object({
  input_tokens: Count,
  output_tokens: Count,
  total_tokens: Count,
  input_tokens_details: Type.Optional(Type.Object({ cached_tokens: Count })),
  output_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: Count })),
});

const CostSchema = Type.Number({
  minimum: 0,
  description: 'US dollars, by the prices that the server was given; absent where the model has none',
});

export const RunStatusSchema = Type.Union([
  Type.Literal('started'),
  Type.Literal('running'),
  Type.Literal('waiting_for_approval'),
  Type.Literal('waiting_for_tool'),
  Type.Literal('stopping'),
  Type.Literal('completed'),
  Type.Literal('failed'),
  Type.Literal('cancelled'),
]);

export const FinishReasonSchema = Type.Union(
  [
    Type.Literal('stop'),
    Type.Literal('tool_calls'),
    Type.Literal('length'),
    Type.Literal('content_filter'),
    Type.Literal('error'),
    Type.Literal('other'),
  ],
  { description: 'How the provider ended the step' },
);

export const ApprovalChoiceSchema = Type.Union([
  Type.Literal('once'),
  Type.Literal('session'),
  Type.Literal('always'),
  Type.Literal('deny'),
]);

export const AnsweredBySchema = Type.String({
  description: 'The name of the API key that answered, or timeout',
});

/** A gated tool call whose question comes after that of another; its time starts when it is asked. */
export const QueuedApprovalSchema = Type.Object({
  request_id: Type.String({ pattern: '^apr_[0-9a-f]{32}$' }),
  tool_call_id: Type.String(),
  command: Type.String({ description: 'What would run, with secrets masked' }),
  pattern_key: Type.String(),
  pattern_keys: Type.Array(Type.String()),
  description: Type.String(),
  choices: Type.Array(ApprovalChoiceSchema),
});

/** A gated tool call that waits for a human: the payload of `approval.request` and the run's `approval`. */
export const ApprovalRequestSchema = Type.Object({
  ...QueuedApprovalSchema.properties,
  expires_at: EpochSeconds,
});

/** A call of one of the client's own tools that waits for its output. */
export const PendingCallSchema = Type.Object({
  tool_call_id: Type.String(),
  tool: Type.String(),
  arguments: Type.Record(Type.String(), Type.Unknown(), { description: 'Complete, as the model wrote them' }),
  expires_at: EpochSeconds,
});

export const ForkedFromSchema = Type.Object({
  run_id: RunId,
  seq: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'The event that it was forked at; null if the run had none yet',
  }),
});

/** The place of a run that nobody works on yet, or not again yet. */
export const RunQueueSchema = Type.Object({
  position: Type.Integer({
    minimum: 1,
    description: 'Its place among the waiting runs of its key, up to 1000',
  }),
  waiting_for: Type.Union(
    [Type.Literal('worker'), Type.Literal('session'), Type.Literal('recovery'), Type.Literal('server')],
    {
      description:
        '`worker`: every worker is busy; `session`: an earlier run of its session is unfinished; `recovery`: after ' +
        'several interruptions it is continued alone; `server`: no server works on runs now',
    },
  ),
});

export const RunSchema = Type.Object({
  object: Type.Literal('hermes.run'),
  run_id: RunId,
  status: RunStatusSchema,
  created_at: EpochSeconds,
  updated_at: EpochSeconds,
  session_id: Type.String(),
  model: Type.String(),
  last_event: Type.String(),
  input: Type.Optional(
    Type.String({ maxLength: 500, description: 'The beginning of the prompt, with secrets masked' }),
  ),
  last_seq: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The seq of the last event; absent before the first' }),
  ),
  steps: Type.Optional(Type.Integer({ minimum: 0, description: 'How many steps the model has completed' })),
  cost: Type.Optional(CostSchema),
  job_id: Type.Optional(Type.String({ description: 'The job that started this run' })),
  forked_from: Type.Optional(ForkedFromSchema),
  evicted: Type.Optional(
    Type.Boolean({
      description:
        'Its answer, events and files are gone: lists still show this head, and nothing else knows the run',
    }),
  ),
  evicted_for: Type.Optional(
    Type.Literal('room', {
      description: 'Finished runs took too much of the disk, so it had to go before its time',
    }),
  ),
  keep: Type.Optional(Type.Boolean({ description: 'It stays until that is taken back; absent otherwise' })),
  expires_at: Type.Optional(
    Type.Number({
      description:
        'When a finished run and its files are deleted, in seconds since the epoch; absent while it is kept. A full disk may ' +
        'end it earlier',
    }),
  ),
  output: Type.Optional(Type.String()),
  output_parsed: Type.Optional(
    Type.Unknown({ description: 'The parsed output, for a run with an output_schema' }),
  ),
  usage: Type.Optional(UsageSchema),
  usage_so_far: Type.Optional(UsageSchema),
  error: Type.Optional(Type.String()),
  error_code: Type.Optional(Type.String()),
  queue: Type.Optional(RunQueueSchema),
  approval: Type.Optional(ApprovalRequestSchema),
  approvals_waiting: Type.Optional(
    Type.Array(QueuedApprovalSchema, {
      description:
        'The questions that come after `approval`, in order; an answer with `all` settles them, too',
    }),
  ),
  pending_calls: Type.Optional(
    Type.Array(PendingCallSchema, { description: 'Answer them at /v1/runs/{run_id}/tool_outputs' }),
  ),
  omitted_messages: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "Messages of the conversation that are left out to fit the model's context",
    }),
  ),
  webhook: Type.Optional(RunWebhookSchema),
});

export const UpdateRunRequestSchema = Type.Object({
  keep: Type.Boolean({ description: 'true keeps the run and its files until false takes that back' }),
});

export const RunListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(RunSchema),
  has_more: Type.Boolean(),
  next_cursor: Type.Union([Type.String(), Type.Null()]),
});

/** An event of the feed. `run` has no answer, as in a list of heads. */
export const RunChangedSchema = Type.Object({
  event: Type.Literal('run.changed'),
  run: RunSchema,
});

export const RunCreatedSchema = Type.Object({
  run_id: RunId,
  status: RunStatusSchema,
  replayed: Type.Boolean(),
});

export const RunStopSchema = Type.Object({ run_id: RunId, status: Type.Literal('stopping') });

export const RunApprovalResponseSchema = Type.Object({
  object: Type.Literal('hermes.run.approval_response'),
  run_id: RunId,
  choice: ApprovalChoiceSchema,
  resolved: Count,
  request_id: Type.String(),
});

export const RunSteerSchema = Type.Object({
  object: Type.Literal('hermes.run.steer'),
  run_id: RunId,
  accepted: Type.Literal(true),
});

export const RunToolOutputsSchema = Type.Object({
  object: Type.Literal('hermes.run.tool_outputs'),
  run_id: RunId,
  accepted: Type.Integer({ minimum: 1, description: 'How many outputs the run has, including earlier ones' }),
});

/** A tool call with its whole arguments and output; secrets are masked. */
export const RunCallSchema = Type.Object({
  object: Type.Literal('hermes.run.call'),
  run_id: RunId,
  tool_call_id: Type.String(),
  tool: Type.String(),
  arguments: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String()], {
    description: 'Complete; text when the model did not write a JSON object',
  }),
  output: Type.Union([Type.String(), Type.Null()], {
    description: 'Complete; null until the call has completed',
  }),
  error: Type.Union([Type.Boolean(), Type.Null()]),
  exit_code: Type.Optional(Type.Integer()),
  started_at: EpochSeconds,
  completed_at: Type.Union([EpochSeconds, Type.Null()]),
  approval: Type.Optional(
    Type.Object({
      request_id: Type.String(),
      pattern_key: Type.String(),
      description: Type.String(),
      requested_at: EpochSeconds,
      choice: Type.Optional(ApprovalChoiceSchema),
      reason: Type.Optional(Type.String()),
      message: Type.Optional(Type.String()),
      answered_by: Type.Optional(AnsweredBySchema),
      answered_at: Type.Optional(EpochSeconds),
    }),
  ),
});

export const ArtifactSchema = Type.Object({
  path: Type.String({ description: 'Relative to the workspace' }),
  type: Type.Union([
    Type.Literal('file'),
    Type.Literal('directory'),
    Type.Literal('symlink'),
    Type.Literal('device'),
    Type.Literal('fifo'),
    Type.Literal('socket'),
  ]),
  size: Type.Integer({ minimum: 0, description: 'Bytes of a file; 0 for everything else' }),
  modified_at: EpochSeconds,
});

const SeqSchema = Type.Integer({
  minimum: -1,
  description: 'The last event whose effects the files contain; -1 for those that the run began with',
});

export const OmittedArtifactSchema = Type.Object({
  path: Type.String({ description: 'Relative to the workspace' }),
  reason: Type.Union([
    Type.Literal('special'),
    Type.Literal('unreadable'),
    Type.Literal('too_large'),
    Type.Literal('too_many'),
    Type.Literal('too_deep'),
    Type.Literal('ignored'),
  ]),
});

export const ArtifactListSchema = Type.Object({
  object: Type.Literal('list'),
  run_id: RunId,
  data: Type.Array(ArtifactSchema),
  truncated: Type.Boolean({ description: 'The listing was cut; there are more entries' }),
  as_of_seq: Type.Optional(SeqSchema),
  omitted: Type.Optional(
    Type.Array(OmittedArtifactSchema, { description: 'With `at`: the first paths that were not kept' }),
  ),
  omitted_count: Type.Optional(Type.Integer({ minimum: 1, description: 'How many were not kept' })),
});

const FileModeSchema = Type.Union([Type.Literal('100644'), Type.Literal('100755'), Type.Literal('120000')], {
  description: 'As git writes it: a file, an executable file, a symbolic link',
});

const LineCountSchema = Type.Union([Count, Type.Null()], {
  description: 'Lines; null if the file was not compared line by line',
});

export const ChangedFileSchema = Type.Object({
  path: Type.String({ description: 'Relative to the workspace' }),
  status: Type.Union([Type.Literal('added'), Type.Literal('modified'), Type.Literal('deleted')]),
  additions: LineCountSchema,
  deletions: LineCountSchema,
  binary: Type.Boolean({ description: 'Not text, or not compared for the reason that is given' }),
  reason: Type.Optional(
    Type.Union([Type.Literal('too_large'), Type.Literal('too_many'), Type.Literal('not_kept')]),
  ),
  mode: Type.Optional(FileModeSchema),
  old_mode: Type.Optional(FileModeSchema),
  renamed_from: Type.Optional(Type.String({ description: 'Of an added file: the path it had before' })),
  renamed_to: Type.Optional(Type.String({ description: 'Of a deleted file: the path it has now' })),
});

export const RunDiffSchema = Type.Object({
  object: Type.Literal('list'),
  run_id: RunId,
  from_seq: SeqSchema,
  to_seq: SeqSchema,
  data: Type.Array(ChangedFileSchema),
  truncated: Type.Boolean({ description: 'More files have changed than are listed' }),
  from_omitted_count: Type.Optional(
    Type.Integer({ minimum: 1, description: 'How many paths were not kept at the first point' }),
  ),
  to_omitted_count: Type.Optional(
    Type.Integer({ minimum: 1, description: 'How many paths were not kept at the second point' }),
  ),
});

export const WrittenArtifactSchema = Type.Object({
  object: Type.Literal('hermes.run.artifact'),
  run_id: RunId,
  path: Type.String({ description: 'Relative to the workspace' }),
  type: Type.Literal('file'),
  size: Count,
  modified_at: EpochSeconds,
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the content; it is also the ETag' }),
});

export const ArtifactRemovedSchema = Type.Object({
  object: Type.Literal('hermes.run.artifact.deleted'),
  run_id: RunId,
  path: Type.String(),
  deleted: Type.Literal(true),
});

const ContentSchema = Type.Union([Type.String(), Type.Array(Type.Unknown())]);

export const MessageSchema = Type.Object({ role: Type.String(), content: ContentSchema });

const JsonSchema = Type.Record(Type.String(), Type.Unknown());

/** A function the client runs itself, in OpenAI's form. */
export const FunctionToolSchema = Type.Object({
  type: Type.Literal('function'),
  function: Type.Object({
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.Optional(Type.String()),
    parameters: Type.Optional(JsonSchema),
    strict: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  }),
});

/** The model settings that a client may ask for, as far as the server allows. */
const Word = Type.String({ pattern: '^[a-z_-]{1,32}$' });
const Penalty = Type.Number({ minimum: -2, maximum: 2 });
const Seed = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
const Tokens = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const Stops = Type.Array(Type.String({ minLength: 1 }), { maxItems: 16 });
const Biases = Type.Record(Type.String(), Type.Number({ minimum: -100, maximum: 100 }), {
  maxProperties: 1024,
});

/** As they are passed on and shown. */
export const ModelSettingsSchema = Type.Object({
  temperature: Type.Optional(Type.Number()),
  top_p: Type.Optional(Type.Number()),
  max_output_tokens: Type.Optional(Tokens),
  stop: Type.Optional(Stops),
  seed: Type.Optional(Seed),
  presence_penalty: Type.Optional(Penalty),
  frequency_penalty: Type.Optional(Penalty),
  logit_bias: Type.Optional(Biases),
  reasoning_effort: Type.Optional(Word),
  verbosity: Type.Optional(Word),
  service_tier: Type.Optional(Word),
});

/** As a request sets them. */
export const ModelSettingsFields = {
  temperature: MayBeNull(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: MayBeNull(Type.Number({ minimum: 0, maximum: 1 })),
  max_output_tokens: MayBeNull(Tokens),
  stop: MayBeNull(Type.Union([Type.String({ minLength: 1 }), Stops])),
  seed: MayBeNull(Seed),
  presence_penalty: MayBeNull(Penalty),
  frequency_penalty: MayBeNull(Penalty),
  logit_bias: MayBeNull(Biases),
  reasoning_effort: MayBeNull(Word),
  verbosity: MayBeNull(Word),
  service_tier: MayBeNull(Word),
};

const WorkspacePath = Type.String({
  description: 'Relative to the workspace, without ..',
  minLength: 1,
  maxLength: 4096,
});
const WorkspaceContent = {
  content: Type.Optional(Type.String({ description: 'Instead of file_id' })),
  encoding: Type.Optional(Type.Literal('base64', { description: 'Of content; text by default' })),
  file_id: Type.Optional(Type.String({ pattern: '^file-[0-9a-f]{32}$' })),
};

/** What is in the workspace before the first step. */
export const WorkspaceRequestSchema = Type.Object(
  {
    files: Type.Optional(
      Type.Array(Type.Object({ path: WorkspacePath, ...WorkspaceContent }, { additionalProperties: false }), {
        maxItems: 1000,
      }),
    ),
    archives: Type.Optional(
      Type.Array(
        Type.Object(
          { path: Type.Optional(WorkspacePath), ...WorkspaceContent },
          { additionalProperties: false, description: 'A tar, tar.gz or zip; content is in base64' },
        ),
        { maxItems: 20 },
      ),
    ),
    git: Type.Optional(
      Type.Array(
        Type.Object(
          {
            path: Type.Optional(WorkspacePath),
            url: Type.String({ description: 'http:// or https://', maxLength: 2048 }),
            ref: Type.Optional(Type.String({ description: 'A branch, tag or commit' })),
            depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
          },
          { additionalProperties: false },
        ),
        { maxItems: 10 },
      ),
    ),
    directory: Type.Optional(Type.String({ description: "The name of one of the operator's directories" })),
    fresh: Type.Optional(Type.Boolean({ description: 'Begin without the files of the session' })),
  },
  { additionalProperties: false },
);

export const CreateRunRequestSchema = Type.Object({
  input: Type.Union([Type.String({ pattern: NOT_BLANK }), Type.Array(MessageSchema, { minItems: 1 })]),
  instructions: MayBeNull(Type.String()),
  conversation_history: MayBeNull(Type.Array(MessageSchema)),
  previous_response_id: MayBeNull(Type.String()),
  session_id: MayBeNull(Type.String({ maxLength: 256, pattern: NO_CONTROLS })),
  model: Type.Optional(Type.Unsafe<string | null>({ description: 'Ignored, whatever it is' })),
  webhook: MayBeNull(WebhookRequestSchema, {
    description: "null: no webhook, not even the server's default",
  }),
  tools: MayBeNull(Type.Array(FunctionToolSchema), { description: 'Tools the client runs itself' }),
  tool_choice: ToolChoiceField,
  parallel_tool_calls: MayBeNull(Type.Boolean()),
  output_schema: MayBeNull(Type.Record(Type.String(), Type.Unknown()), {
    description: 'A JSON schema that the answer must satisfy',
  }),
  workspace: MayBeNull(WorkspaceRequestSchema),
  ...ModelSettingsFields,
});

export const ForkRunRequestSchema = Type.Object({
  at: MayBeNull(Type.Integer({ minimum: 0 }), {
    description: 'The seq of the event to go back to; the last event by default',
  }),
  input: MayBeNull(
    Type.Union([Type.String({ pattern: `^$|${NOT_BLANK}` }), Type.Array(MessageSchema, { maxItems: 1 })]),
    { description: 'The next message of the user; required where the conversation ends with an answer' },
  ),
  instructions: MayBeNull(Type.String(), { description: 'Instead of those of the run' }),
});

export const ToolOutputsRequestSchema = Type.Object({
  outputs: Type.Array(
    Type.Object({
      tool_call_id: Type.String({ minLength: 1, maxLength: 256 }),
      output: Type.Unknown({ description: 'Text; any other value is passed on as JSON' }),
      error: Type.Optional(
        Type.Unknown({
          description:
            'true where the tool failed, or the reason as text; false and null mean that it did not',
        }),
      ),
    }),
    { minItems: 1 },
  ),
});

export const ApprovalAnswerSchema = Type.Object({
  choice: Type.Union([
    ApprovalChoiceSchema,
    Type.Literal('approve'),
    Type.Literal('approved'),
    Type.Literal('allow'),
  ]),
  request_id: MayBeNull(Type.String({ minLength: 1 })),
  message: MayBeNull(
    Type.String({ maxLength: APPROVAL_MESSAGE_MAX, description: 'Goes with deny: the model is told why' }),
  ),
  all: MayBeNull(Type.Boolean()),
  resolve_all: MayBeNull(Type.Boolean()),
});

export const SteerRequestSchema = Type.Object({ input: Type.String({ pattern: NOT_BLANK }) });

export const ErrorSchema = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    param: Type.Union([Type.String(), Type.Null()]),
    code: Type.Union([Type.String(), Type.Null()]),
  }),
});

/** The error body of the routes under `/api`. */
export const TextErrorSchema = Type.Object({ error: Type.String() });

/** Which files a run continues with after it lost its machine or its sandbox. */
const AFTER_LOSS = {
  workspace_lost: Type.Optional(
    Type.Literal(true, {
      description:
        'The run continues on another machine or in another sandbox, without the files it had made',
    }),
  ),
  workspace_restored: Type.Optional(
    Type.Literal(true, {
      description: 'The run continues on another machine or in another sandbox, with the files it had made',
    }),
  ),
  workspace_as_of_seq: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'The restored files are as they were after this event; changes of later calls are missing',
    }),
  ),
};

/** The payload of each event by name, in addition to `event`, `run_id`, `timestamp` and `seq`. */
export const EVENT_PAYLOADS = {
  'message.delta': Type.Object({ delta: Type.String() }),
  'reasoning.available': Type.Object({ text: Type.String() }),
  'step.completed': Type.Object({
    step: Type.Integer({ minimum: 1, description: 'The steps of a run are counted from 1' }),
    duration: Type.Number({
      minimum: 0,
      description: 'Seconds from the request to the model to the end of its answer',
    }),
    usage: UsageSchema,
    cost: Type.Optional(CostSchema),
    finish_reason: FinishReasonSchema,
  }),
  'tool.started': Type.Object({
    tool: Type.String(),
    preview: Type.String(),
    tool_call_id: Type.String(),
    arguments: Type.Record(Type.String(), Type.Unknown()),
    client: Type.Optional(
      Type.Literal(true, { description: 'A tool of the client, which the client has to run' }),
    ),
  }),
  'tool.completed': Type.Object({
    tool: Type.String(),
    duration: Type.Number({ minimum: 0, description: 'Seconds' }),
    error: Type.Boolean(),
    preview: Type.String({ maxLength: 500 }),
    tool_call_id: Type.String(),
    exit_code: Type.Optional(Type.Integer()),
    ...AFTER_LOSS,
  }),
  'approval.request': ApprovalRequestSchema,
  'approval.responded': Type.Object({
    choice: ApprovalChoiceSchema,
    resolved: Count,
    request_id: Type.String(),
    reason: Type.Optional(Type.String()),
    message: Type.Optional(Type.String({ description: 'Why it was denied, with secrets masked' })),
    answered_by: Type.Optional(AnsweredBySchema),
  }),
  'run.waiting': Type.Object({
    calls: Type.Array(PendingCallSchema, {
      description: 'Calls of client tools: the run waits until they have outputs or time out',
    }),
    usage_so_far: Type.Optional(UsageSchema),
  }),
  'run.steered': Type.Object({ input: Type.String() }),
  'run.resumed': Type.Object({
    ...AFTER_LOSS,
    discard_from_seq: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Text deltas and reasoning with this seq or a later one are sent again',
      }),
    ),
  }),
  'run.completed': Type.Object({
    output: Type.String(),
    output_parsed: Type.Optional(Type.Unknown()),
    usage: UsageSchema,
  }),
  'run.failed': Type.Object({
    error: Type.String(),
    error_code: Type.String(),
    usage_so_far: Type.Optional(UsageSchema),
  }),
  'run.cancelled': Type.Object({ usage_so_far: Type.Optional(UsageSchema) }),
} as const;
