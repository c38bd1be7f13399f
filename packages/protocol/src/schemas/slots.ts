import Type from 'typebox';
import { MayBeNull, NO_CONTROLS } from './request-fields.ts';
import { ArtifactSchema } from './runs.ts';

/** The states of a slot that a client can see; a client never holds a free one. */
export const SlotStateSchema = Type.Union(
  ['available', 'acquired', 'executing', 'releasing', 'error'].map((state) => Type.Literal(state)),
);

export const SlotSchema = Type.Object({
  id: Type.String({ pattern: '^slot_[0-9a-f]{32}$' }),
  trajectory_id: Type.Union([Type.String(), Type.Null()]),
  container_id: Type.String({ description: "A container's id, or local" }),
  workspace_dir: Type.String({ description: 'The workspace as commands in the slot see it' }),
  state: SlotStateSchema,
});

export const AcquireSlotRequestSchema = Type.Object({
  trajectory_id: MayBeNull(
    Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: NO_CONTROLS,
      description: 'Acquiring it again gives the same slot while it is held, and the same files afterwards',
    }),
  ),
});

export const SlotCallSchema = Type.Object({
  slot_id: Type.String({ minLength: 1 }),
  tool: Type.String({
    minLength: 1,
    description: 'bash, bash_stateful, read_file, write_file, patch, search_files, process or tmux',
  }),
  args: MayBeNull(Type.Record(Type.String(), Type.Unknown())),
});

export const ExecuteSlotsRequestSchema = Type.Object({
  requests: Type.Array(SlotCallSchema, { minItems: 1, maxItems: 256 }),
  timeout_s: MayBeNull(
    Type.Number({ exclusiveMinimum: 0, description: 'For each call; the server has a maximum' }),
  ),
});

const FilesAfterLoss = Type.Optional(
  Type.String({
    description:
      'Present if the container of the slot died. kept: the files are as the calls left them; reverted: as they were when the slot was acquired',
  }),
);

export const SlotResultSchema = Type.Object({
  success: Type.Boolean(),
  output: Type.String(),
  error: Type.String({ description: 'Empty on success' }),
  execution_id: Type.String(),
  slot_id: Type.String(),
  metadata: Type.Object({
    exit_code: Type.Optional(Type.Integer()),
    signal: Type.Optional(Type.String()),
    duration_s: Type.Number({ minimum: 0 }),
    timed_out: Type.Boolean(),
    truncated: Type.Boolean(),
    total_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
    full_output_path: Type.Optional(Type.String()),
    failure: Type.Optional(
      Type.String({
        description: 'timeout, aborted, oom, disk_full, process_limit, gone, backend_down or invalid_request',
      }),
    ),
    sandboxed: Type.Optional(Type.Boolean({ description: 'Of a command: something isolates it' })),
    network_isolated: Type.Optional(Type.Boolean({ description: 'Of a command: it has no network' })),
    stateful: Type.Optional(Type.Boolean({ description: 'Of a command in the terminal of its slot' })),
    pane_width: Type.Optional(Type.Integer({ minimum: 1, description: 'Columns of a terminal' })),
    pane_height: Type.Optional(Type.Integer({ minimum: 1, description: 'Rows of a terminal' })),
    stream_offset: Type.Optional(
      Type.Integer({ minimum: 0, description: 'How many bytes of a recording were streamed' }),
    ),
    files_after_loss: FilesAfterLoss,
  }),
});

export const SlotResultsSchema = Type.Object({ results: Type.Array(SlotResultSchema) });

/** The data of an event `slot.result`. */
export const SlotResultEventSchema = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'The index of the request that it answers' }),
  result: SlotResultSchema,
});

export const ReleaseSlotRequestSchema = Type.Object({
  reset_workspace: MayBeNull(Type.Boolean({ description: 'Whether to delete the files' })),
});

export const SlotReleasedSchema = Type.Object({
  id: Type.String(),
  released: Type.Literal(true),
  files_after_loss: FilesAfterLoss,
});

export const SlotListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(SlotSchema, { description: 'The slots that this key holds, oldest first' }),
  stats: Type.Object({
    backend: Type.String(),
    held: Type.Integer({ minimum: 0, description: 'By this key' }),
    waiting: Type.Integer({ minimum: 0, description: 'Acquires of this key that wait' }),
    available: Type.Integer({
      minimum: 0,
      description: 'How many slots this key could acquire now without waiting',
    }),
    max_slots: Type.Integer({ minimum: 1, description: 'Of all keys together' }),
    max_slots_per_key: Type.Integer({ minimum: 1 }),
    default_timeout_s: Type.Number({
      description: 'The timeout of a call that names none, and the longest one it may name',
    }),
    wait_seconds: Type.Number(),
    idle_seconds: Type.Number(),
  }),
});

export const SlotArtifactSchema = Type.Object({
  path: Type.String(),
  encoding: Type.Union([Type.Literal('text'), Type.Literal('base64')]),
  content: Type.String(),
  size: Type.Integer({ minimum: 0, description: 'Bytes of the whole file' }),
  truncated: Type.Boolean(),
  sha256: Type.Optional(Type.String()),
});

export const SlotArtifactListSchema = Type.Object({
  object: Type.Literal('list'),
  slot_id: Type.String(),
  data: Type.Array(ArtifactSchema),
  truncated: Type.Boolean(),
});
