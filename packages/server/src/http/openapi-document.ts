/**
 * The OpenAPI document, made from the schemas of the protocol. It is loaded on the first request for it: nothing else
 * at run time needs the schemas, and loading them would be a good part of the start time.
 *
 * An operation is described here and served by the route with the same method and path. The conformance suite checks
 * that the document has every route.
 */
import { RUN_STATUSES } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import Type, { type TSchema } from 'typebox';
import { FILE_OPERATIONS } from './openapi-files.ts';
import { SLOT_OPERATIONS } from './slots/slot-operations.ts';

export interface Operation {
  tag: 'runs' | 'slots' | 'openai' | 'sessions' | 'jobs' | 'discovery' | 'health';
  summary: string;
  description?: string;
  /** Needs no key. */
  open?: boolean;
  headers?: Record<string, TSchema>;
  query?: Record<string, TSchema>;
  /** Names of required query parameters. */
  required?: string[];
  body?: TSchema;
  /** The content type of the request's body; JSON by default. */
  bodyType?: string;
  /** Whether the body is optional. */
  optionalBody?: boolean;
  /** The status of a successful response. */
  status?: number;
  answer?: TSchema;
  /** The content type of the response; JSON by default. */
  contentType?: string | readonly string[];
  /** Further responses that are not errors. */
  also?: Record<number, string>;
  /** Whether the response can also be a stream of server-sent events. */
  streams?: true;
  errors?: number[];
}

const Limit = Type.Integer({ minimum: 1, maximum: 200, default: 50 });
const AnyObject = Type.Object({});
const After = Type.String({ description: 'The next_cursor of the page before' });
const View = Type.Union([Type.Literal('full'), Type.Literal('head')], {
  description: '`head`: without the answer',
});
const EpochSeconds = Type.Number({
  minimum: 0,
  maximum: 99_999_999_999,
  description: 'Seconds since the epoch, fractional',
});
const Offset = Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 });
const ItemQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'desc' }),
  after: Type.String({ description: 'The id of an item: only those after it' }),
};
/** One event of a stream, read as the standard says: before OpenAPI 3.2 the schema of a stream is that of its events. */
const StreamedEvent = Type.Object({
  id: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  data: Type.String(),
});
const Path = Type.String({ description: 'Relative to the workspace; the workspace itself by default' });
const At = Type.Integer({
  minimum: -1,
  description: 'The seq of an event: the files as they were after it. -1: as the run began with them',
});

/**
 * The errors of the routes under `/api/jobs`. Errors from before any route is reached have the usual envelope there,
 * too.
 */
const AnyError = Type.Union([schemas.TextErrorSchema, schemas.ErrorSchema]);

const PATH_PARAMETERS: Record<string, TSchema> = {
  run_id: Type.String({ pattern: '^run_[0-9a-f]{32}$' }),
  slot_id: Type.String({ pattern: '^slot_[0-9a-f]{32}$' }),
  session_id: Type.String({ description: 'The name of a session, percent-encoded' }),
  job_id: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  response_id: Type.String({ pattern: '^resp_[0-9a-f]{28}$' }),
  conversation_id: Type.String({ description: 'conv_ and 32 hex digits, or the name of a session' }),
  file_id: Type.String({ pattern: '^file-[0-9a-f]{32}$' }),
  grant_id: Type.String({ pattern: '^grt_[0-9a-f]{32}$' }),
  tool_call_id: Type.String({ description: 'As the events of the run name it, percent-encoded' }),
  item_id: Type.String({ description: 'As the list of items names it' }),
  model: Type.String({ description: 'As /v1/models names it' }),
};

const BODILESS: ReadonlySet<string> = new Set(['204', '304']);

const ERRORS: Record<number, string> = {
  400: 'The request is not valid',
  401: 'The API key is missing or wrong',
  403: 'Not allowed on a server without a key',
  404: 'It does not exist, or is in a state that does not allow this',
  409: 'In conflict with an earlier request',
  412: 'The file is not the version that the request names',
  413: 'The body is too large',
  415: 'The body has an unknown encoding',
  416: 'The file has no bytes in that range',
  421: 'This process has no sandbox; another process has one',
  422: 'The run failed or was stopped; a retry would be another run',
  429: 'Too many are waiting; Retry-After, if present, says when to retry',
  502: 'The model provider failed',
  503: 'Not at the moment; see Retry-After',
  504: 'The model provider did not answer in time',
};

const OPERATIONS: Record<string, Operation> = {
  'GET /health': { tag: 'health', summary: 'Is it up?', open: true, answer: schemas.HealthSchema },
  'GET /v1/health': { tag: 'health', summary: 'Is it up?', open: true, answer: schemas.HealthSchema },
  'GET /health/ready': {
    tag: 'health',
    summary: 'Should requests be sent here? 503 while it shuts down',
    open: true,
    answer: schemas.HealthReadySchema,
  },
  'GET /health/detailed': {
    tag: 'health',
    summary: 'The state of the server and its parts',
    answer: schemas.HealthDetailedSchema,
    errors: [401],
  },
  'GET /metrics': {
    tag: 'health',
    summary: 'Metrics in the text format of Prometheus',
    answer: Type.String(),
    contentType: 'text/plain',
    errors: [401],
  },
  'GET /openapi.json': { tag: 'discovery', summary: 'This document', errors: [401] },
  'GET /v1/models': {
    tag: 'discovery',
    summary: 'The model this server offers',
    answer: schemas.ModelListSchema,
    errors: [401],
  },
  'GET /v1/models/{model}': {
    tag: 'discovery',
    summary: 'The model of this name',
    answer: schemas.ModelSchema,
    errors: [401, 404],
  },
  'GET /v1/capabilities': {
    tag: 'discovery',
    summary: 'What this server can do',
    answer: schemas.CapabilitiesSchema,
    errors: [401],
  },
  'GET /v1/skills': {
    tag: 'discovery',
    summary: 'The skills of the agent: it has none',
    answer: schemas.SkillListSchema,
    errors: [401],
  },
  'GET /v1/toolsets': {
    tag: 'discovery',
    summary: 'The tools of the agent, in sets',
    answer: schemas.ToolsetListSchema,
    errors: [401],
  },
  'GET /api/model/options': {
    tag: 'discovery',
    summary: 'The models that a request may name',
    query: { refresh: Type.Unknown({ description: 'Ignored: the response is always up to date' }) },
    answer: schemas.ModelOptionsSchema,
    errors: [401],
  },
  'POST /v1/runs': {
    tag: 'runs',
    summary: 'Start a run',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }), traceparent: Type.String() },
    body: schemas.CreateRunRequestSchema,
    status: 202,
    answer: schemas.RunCreatedSchema,
    errors: [400, 401, 409, 413, 429, 503],
  },
  'POST /v1/chat/completions': {
    tag: 'openai',
    streams: true,
    summary: 'Answer a conversation',
    description:
      'The answer of a run, whose id is in the header X-Talaria-Run-Id. With `stream`, server-sent events: chunks of the ' +
      'answer, frames named hermes.tool.progress, hermes.approval.request and hermes.approval.responded, and [DONE]. ' +
      'A run that fails has the status of its failure.',
    headers: {
      'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }),
      'X-Hermes-Session-Id': Type.String({ maxLength: 256, description: 'Continue this session' }),
      'X-Hermes-Session-Key': Type.String({ maxLength: 256, description: 'Echoed' }),
    },
    body: schemas.ChatRequestSchema,
    answer: schemas.ChatCompletionSchema,
    errors: [400, 401, 403, 409, 413, 422, 429, 503],
  },
  'POST /v1/completions': {
    tag: 'openai',
    streams: true,
    summary: 'Answer a prompt',
    description:
      'The answer of a run, whose id is in the header X-Talaria-Run-Id. With `stream`, server-sent events of the same shape, ' +
      'and [DONE]. A run that fails has the status of its failure.',
    headers: {
      'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }),
      'X-Hermes-Session-Id': Type.String({ maxLength: 256, description: 'Continue this session' }),
      'X-Hermes-Session-Key': Type.String({ maxLength: 256, description: 'Echoed' }),
    },
    body: schemas.CompletionRequestSchema,
    answer: schemas.CompletionSchema,
    errors: [400, 401, 403, 409, 413, 422, 429, 503],
  },
  'POST /v1/embeddings': {
    tag: 'openai',
    summary: "Create embeddings with the model's provider",
    description: "Passed on to the provider with the server's key; 404 if the provider has no embeddings.",
    body: schemas.EmbeddingRequestSchema,
    answer: schemas.EmbeddingListSchema,
    errors: [400, 401, 404, 413, 429, 502, 504],
  },
  'POST /v1/responses': {
    tag: 'openai',
    streams: true,
    summary: 'Create a response',
    description:
      'The answer of a run, whose id is in the header X-Talaria-Run-Id. With `stream`, server-sent events named as their ' +
      '`type`; with `background`, the response in its present state, to be fetched again later. A run that fails has the status of ' +
      'its failure. Calls that the server runs are `mcp_call` items; `function_call` asks the client to run one of its own ' +
      '`tools`, and the request that brings its `function_call_output` continues the run.',
    headers: {
      'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }),
      'X-Hermes-Session-Id': Type.String({ maxLength: 256, description: 'Continue this session' }),
      'X-Hermes-Session-Key': Type.String({ maxLength: 256, description: 'Echoed' }),
      'X-Hermes-Tool-Items': Type.Union([Type.Literal('mcp_call'), Type.Literal('function_call')], {
        description: 'How to show calls that the server runs',
      }),
    },
    body: schemas.ResponseRequestSchema,
    answer: schemas.ResponseObjectSchema,
    errors: [400, 401, 403, 404, 409, 413, 422, 429, 503],
  },
  'GET /v1/responses/{response_id}': {
    tag: 'openai',
    streams: true,
    summary: 'Get a response, or its events',
    query: {
      stream: Type.Boolean({ default: false, description: 'Server-sent events, as when it was created' }),
      starting_after: Type.Integer({ minimum: 0, description: 'Only the events after this sequence_number' }),
    },
    answer: schemas.ResponseObjectSchema,
    errors: [400, 401, 404],
  },
  'DELETE /v1/responses/{response_id}': {
    tag: 'openai',
    summary: 'Delete a finished response',
    answer: schemas.ResponseDeletedSchema,
    errors: [401, 404, 409],
  },
  'POST /v1/responses/{response_id}/cancel': {
    tag: 'openai',
    summary: 'Cancel a background response',
    answer: schemas.ResponseObjectSchema,
    errors: [400, 401, 404, 409],
  },
  'GET /v1/responses/{response_id}/input_items': {
    tag: 'openai',
    summary: 'List the input items of a response',
    query: ItemQuery,
    answer: schemas.ResponseItemListSchema,
    errors: [400, 401, 404],
  },
  'POST /v1/responses/input_tokens': {
    tag: 'openai',
    summary: 'Estimate the tokens of a request',
    description:
      "Counts the request and the messages that it continues, without the agent's own prompt and tools.",
    body: schemas.ResponseRequestSchema,
    answer: schemas.ResponseInputTokensSchema,
    errors: [400, 401, 403, 404, 409, 413],
  },
  'POST /v1/conversations': {
    tag: 'openai',
    summary: 'Create a conversation, which is a session',
    body: Type.Union([schemas.CreateConversationRequestSchema, Type.Null()]),
    optionalBody: true,
    answer: schemas.ConversationSchema,
    errors: [400, 401, 413],
  },
  'GET /v1/conversations/{conversation_id}': {
    tag: 'openai',
    summary: 'Get a conversation',
    answer: schemas.ConversationSchema,
    errors: [401, 404],
  },
  'POST /v1/conversations/{conversation_id}': {
    tag: 'openai',
    summary: 'Change the metadata of a conversation',
    body: schemas.UpdateConversationRequestSchema,
    answer: schemas.ConversationSchema,
    errors: [400, 401, 404],
  },
  'DELETE /v1/conversations/{conversation_id}': {
    tag: 'openai',
    summary: 'Delete a conversation and its session',
    answer: schemas.ConversationDeletedSchema,
    errors: [401, 404, 409],
  },
  'GET /v1/conversations/{conversation_id}/items': {
    tag: 'openai',
    summary: 'List the items of a conversation',
    query: ItemQuery,
    answer: schemas.ResponseItemListSchema,
    errors: [400, 401, 404],
  },
  'POST /v1/conversations/{conversation_id}/items': {
    tag: 'openai',
    summary: 'Add items to a conversation',
    body: schemas.ConversationItemsRequestSchema,
    answer: schemas.ResponseItemListSchema,
    errors: [400, 401, 404, 409, 413],
  },
  'GET /v1/conversations/{conversation_id}/items/{item_id}': {
    tag: 'openai',
    summary: 'Get an item of a conversation',
    answer: Type.Object({ id: Type.String(), type: Type.String() }),
    errors: [401, 404],
  },
  'DELETE /v1/conversations/{conversation_id}/items/{item_id}': {
    tag: 'openai',
    summary: 'Remove an item from a conversation',
    answer: schemas.ConversationSchema,
    errors: [401, 404, 409],
  },
  'GET /v1/runs': {
    tag: 'runs',
    summary: 'List runs, newest first',
    query: {
      status: Type.String({
        pattern: `^(${RUN_STATUSES.join('|')})(,(${RUN_STATUSES.join('|')}))*$`,
        description: 'One status, or several separated by commas',
      }),
      session_id: Type.String(),
      job_id: Type.String({ description: 'Runs of this job' }),
      since: EpochSeconds,
      until: EpochSeconds,
      q: Type.String({
        description: 'Words that must all occur in the prompt (as far as `input` shows it) or in the answer',
      }),
      view: View,
      limit: Limit,
      after: After,
    },
    answer: schemas.RunListSchema,
    errors: [400, 401],
  },
  'GET /v1/runs/{run_id}': {
    tag: 'runs',
    summary: 'Get a run',
    description:
      'A run that is evicted is 404, except with `view=head`: then its head is shown as long as it is kept.',
    query: { view: View },
    answer: schemas.RunSchema,
    errors: [400, 401, 404],
  },
  'GET /v1/approvals': {
    tag: 'runs',
    summary: 'List questions to people, over all runs, newest first',
    description: 'Without a status: first those that wait for an answer, then the answered ones.',
    query: {
      status: Type.Union([Type.Literal('pending'), Type.Literal('answered')]),
      limit: Limit,
      after: After,
    },
    answer: schemas.ApprovalListSchema,
    errors: [400, 401],
  },
  'GET /v1/grants': {
    tag: 'runs',
    summary: 'List what answers allow beyond their own call, newest first',
    query: { limit: Limit, after: After },
    answer: schemas.GrantListSchema,
    errors: [400, 401],
  },
  'DELETE /v1/grants/{grant_id}': {
    tag: 'runs',
    summary: 'Take a grant back, at once',
    answer: schemas.GrantDeletedSchema,
    errors: [401, 404],
  },
  'GET /v1/runs/{run_id}/calls/{tool_call_id}': {
    tag: 'runs',
    summary: 'Get a tool call of a run, with its whole arguments and output',
    answer: schemas.RunCallSchema,
    errors: [401, 404],
  },
  'GET /v1/runs/{run_id}/events': {
    tag: 'runs',
    summary: 'Stream the events of a run',
    description:
      'Server-sent events: the whole run from its first event, then live ones, until the terminal event. ' +
      'With a cursor, everything after it, once and in order.',
    headers: {
      'Last-Event-ID': Type.String({ pattern: '^[0-9]*$', description: 'An empty value counts as absent' }),
    },
    query: { last_event_id: Type.Integer({ minimum: 0 }), last_seq: Type.Integer({ minimum: 0 }) },
    answer: Type.String(),
    contentType: 'text/event-stream',
    also: { 204: 'The run has ended, and nothing comes after the cursor' },
    errors: [400, 401, 404],
  },
  'GET /v1/feed': {
    tag: 'runs',
    summary: 'Stream the runs of the key as they change',
    description:
      'Server-sent events without an end; the schema is that of their data. Each has a run without its output, in its ' +
      'latest state. Without a cursor the feed begins now. With a cursor, it begins with every run that has changed since.',
    headers: { 'Last-Event-ID': Type.String({ description: 'An empty value counts as absent' }) },
    query: { after: Type.String({ description: 'The same as Last-Event-ID, which wins' }) },
    answer: schemas.RunChangedSchema,
    contentType: 'text/event-stream',
    errors: [400, 401],
  },
  'POST /v1/runs/{run_id}/fork': {
    tag: 'runs',
    summary: 'Start a run that continues from an event of this one',
    description:
      'The new run has the conversation as it was after that event, without a step whose calls were open. ' +
      'This run is not changed.',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }), traceparent: Type.String() },
    body: schemas.ForkRunRequestSchema,
    optionalBody: true,
    status: 202,
    answer: schemas.RunCreatedSchema,
    errors: [400, 401, 404, 409, 413, 429, 503],
  },
  'POST /v1/runs/{run_id}/stop': {
    tag: 'runs',
    summary: 'Stop a run',
    description: 'The body is ignored. The run is cancelled within 5 s, whatever it was doing.',
    answer: schemas.RunStopSchema,
    errors: [401, 404],
  },
  'POST /v1/runs/{run_id}/approval': {
    tag: 'runs',
    summary: 'Answer the pending approval',
    body: schemas.ApprovalAnswerSchema,
    answer: schemas.RunApprovalResponseSchema,
    errors: [400, 401, 404, 409],
  },
  'POST /v1/runs/{run_id}/steer': {
    tag: 'runs',
    summary: 'Send text to a running run, for its next step',
    body: schemas.SteerRequestSchema,
    answer: schemas.RunSteerSchema,
    errors: [400, 401, 404, 409, 429],
  },
  'POST /v1/runs/{run_id}/tool_outputs': {
    tag: 'runs',
    summary: 'Send the outputs of client tool calls',
    description: 'Sending the same output again changes nothing.',
    body: schemas.ToolOutputsRequestSchema,
    answer: schemas.RunToolOutputsSchema,
    errors: [400, 401, 404, 409],
  },
  'GET /v1/runs/{run_id}/artifacts': {
    tag: 'runs',
    summary: "List the files of a run's workspace",
    query: {
      path: Path,
      recursive: Type.Boolean({ default: false }),
      max_entries: Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000 }),
      at: At,
    },
    answer: schemas.ArtifactListSchema,
    errors: [400, 401, 404, 409],
  },
  'GET /v1/runs/{run_id}/artifacts/content': {
    tag: 'runs',
    summary: "Get one file of a run's workspace",
    description: 'The whole file, or a part of it with a range (206). HEAD gives only the headers.',
    headers: {
      Range: Type.String({ description: 'bytes=first-last, bytes=first- or bytes=-count' }),
      'If-Range': Type.String(),
      'If-None-Match': Type.String(),
    },
    query: { path: Type.String({ description: 'Relative to the workspace' }), at: At },
    required: ['path'],
    answer: Type.String(),
    contentType: 'application/octet-stream',
    also: { 206: 'The range', 304: 'The version that the client has' },
    errors: [400, 401, 404, 409, 416],
  },
  'PUT /v1/runs/{run_id}/artifacts/content': {
    tag: 'runs',
    summary: "Write one file of a run's workspace",
    description:
      'The body is the file, of any type. It is there as a whole or not at all, also while the run works.',
    headers: {
      'If-Match': Type.String({ description: 'The ETag that the file must have, or * for any file' }),
      'If-None-Match': Type.String({ description: '*: there must be nothing at this path' }),
    },
    query: { path: Type.String({ description: 'Relative to the workspace' }) },
    required: ['path'],
    body: Type.String({ format: 'binary' }),
    bodyType: 'application/octet-stream',
    status: 200,
    answer: schemas.WrittenArtifactSchema,
    also: { 201: 'The file is new' },
    errors: [400, 401, 404, 412, 413, 415, 503],
  },
  'DELETE /v1/runs/{run_id}/artifacts/content': {
    tag: 'runs',
    summary: "Remove a file or directory of a run's workspace",
    headers: { 'If-Match': Type.String({ description: 'The ETag that the file must have' }) },
    query: {
      path: Type.String({ description: 'Relative to the workspace' }),
      recursive: Type.Boolean({ default: false, description: 'Also remove a directory that is not empty' }),
    },
    required: ['path'],
    answer: schemas.ArtifactRemovedSchema,
    errors: [400, 401, 404, 412, 503],
  },
  'GET /v1/runs/{run_id}/artifacts/archive': {
    tag: 'runs',
    summary: "Get a directory of a run's workspace as an archive",
    query: {
      path: Path,
      format: Type.Union([Type.Literal('tar.gz'), Type.Literal('tar'), Type.Literal('zip')], {
        default: 'tar.gz',
      }),
      at: At,
    },
    answer: Type.String(),
    contentType: ['application/gzip', 'application/x-tar', 'application/zip'],
    errors: [400, 401, 404, 409],
  },
  'GET /v1/runs/{run_id}/diff': {
    tag: 'runs',
    summary: "What changed in a run's files between two events",
    description:
      'A list of files, or with `format=patch` a unified diff that `git apply` takes. If `from` is later than `to`, it is the reverse.',
    query: {
      from: Type.Integer({
        minimum: -1,
        description: 'The seq of an event; by default the start of the run',
      }),
      to: Type.Integer({ minimum: -1, description: 'The seq of an event; by default the last checkpoint' }),
      path: Type.String({ description: 'Only this file, or what is in this directory' }),
      format: Type.Literal('patch'),
    },
    answer: schemas.RunDiffSchema,
    contentType: ['application/json', 'text/x-diff'],
    errors: [400, 401, 404, 409],
  },
  'GET /api/sessions': {
    tag: 'sessions',
    summary: 'List sessions, most recently used first',
    query: {
      limit: Limit,
      after: After,
      offset: Offset,
      source: Type.String(),
      title: Type.String({ description: 'Only the session with exactly this title' }),
      include_hidden: Type.Boolean({ default: false, description: 'With a title: include hidden sessions' }),
    },
    answer: schemas.SessionListSchema,
    errors: [400, 401],
  },
  'POST /api/sessions': {
    tag: 'sessions',
    summary: 'Create a session',
    body: schemas.CreateSessionRequestSchema,
    optionalBody: true,
    status: 201,
    answer: schemas.SessionAnswerSchema,
    errors: [400, 401, 409, 413],
  },
  'GET /api/sessions/{session_id}': {
    tag: 'sessions',
    summary: 'Get a session',
    answer: schemas.SessionAnswerSchema,
    errors: [401, 404],
  },
  'PATCH /api/sessions/{session_id}': {
    tag: 'sessions',
    summary: 'Change the fields of a session',
    body: schemas.UpdateSessionRequestSchema,
    answer: schemas.SessionAnswerSchema,
    errors: [400, 401, 404, 413],
  },
  'DELETE /api/sessions/{session_id}': {
    tag: 'sessions',
    summary: 'Delete a session with its transcript',
    answer: schemas.SessionDeletedSchema,
    errors: [401, 404, 409],
  },
  'GET /api/sessions/{session_id}/messages': {
    tag: 'sessions',
    summary: 'Read the transcript of a session',
    query: {
      limit: Type.Integer({ minimum: 1, maximum: 500, default: 500 }),
      after: Type.Integer({ minimum: 0, description: 'The index of a message' }),
      order: Type.Union([Type.Literal('oldest'), Type.Literal('latest')], {
        description: 'From which end limit and offset count',
      }),
      offset: Offset,
    },
    answer: schemas.SessionMessageListSchema,
    errors: [400, 401, 404],
  },
  'POST /api/sessions/{session_id}/fork': {
    tag: 'sessions',
    summary: 'Create a session that starts with the messages of this one',
    body: schemas.ForkSessionRequestSchema,
    optionalBody: true,
    status: 201,
    answer: schemas.SessionAnswerSchema,
    errors: [400, 401, 404, 409],
  },
  'POST /api/sessions/{session_id}/chat': {
    tag: 'sessions',
    summary: 'Answer a message in a session',
    description:
      'The answer of a run, whose id is in it and in the header X-Talaria-Run-Id. A run that fails has the status of its ' +
      'failure.',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }) },
    body: schemas.SessionChatRequestSchema,
    answer: schemas.SessionChatCompletionSchema,
    errors: [400, 401, 404, 409, 413, 422, 429, 503],
  },
  'POST /api/sessions/{session_id}/chat/stream': {
    tag: 'sessions',
    summary: 'Answer a message in a session as a stream',
    description: 'Server-sent events, each with its name in the `event:` line; the last is done.',
    headers: { 'Idempotency-Key': Type.String({ minLength: 1, maxLength: 255 }) },
    body: schemas.SessionChatRequestSchema,
    answer: schemas.SessionChatEventSchema,
    contentType: 'text/event-stream',
    errors: [400, 401, 404, 409, 413, 429, 503],
  },
  'GET /api/jobs': {
    tag: 'jobs',
    summary: 'List jobs, oldest first',
    query: { include_disabled: Type.Boolean({ default: false, description: 'Include paused jobs' }) },
    answer: schemas.JobListSchema,
    errors: [400, 401],
  },
  'POST /api/jobs': {
    tag: 'jobs',
    summary: 'Create a job',
    body: schemas.CreateJobRequestSchema,
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 409, 413],
  },
  'GET /api/jobs/{job_id}': {
    tag: 'jobs',
    summary: 'Get a job',
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404],
  },
  'PATCH /api/jobs/{job_id}': {
    tag: 'jobs',
    summary: 'Change a job',
    description: 'Absent fields stay unchanged. A new schedule sets a new time for the next run.',
    body: schemas.UpdateJobRequestSchema,
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404, 413],
  },
  'DELETE /api/jobs/{job_id}': {
    tag: 'jobs',
    summary: 'Delete a job',
    description: 'A run of it that is in progress continues.',
    answer: schemas.JobDeletedSchema,
    errors: [400, 401, 404],
  },
  'POST /api/jobs/{job_id}/pause': {
    tag: 'jobs',
    summary: 'Pause a job',
    body: schemas.PauseJobRequestSchema,
    optionalBody: true,
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404],
  },
  'POST /api/jobs/{job_id}/resume': {
    tag: 'jobs',
    summary: 'Resume a paused job',
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404],
  },
  'POST /api/jobs/{job_id}/run': {
    tag: 'jobs',
    summary: 'Run a job now, in addition to its schedule',
    answer: schemas.JobAnswerSchema,
    errors: [400, 401, 404, 409, 429, 503],
  },
};

export function openApiDocument(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, operation] of Object.entries({
    ...OPERATIONS,
    ...FILE_OPERATIONS,
    ...SLOT_OPERATIONS,
  })) {
    const [method = '', path = ''] = route.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(path, operation) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Talaria', version, description: 'The Hermes Agent Runs API, as Talaria serves it' },
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    security: [{ bearer: [] }],
    paths,
    webhooks: {
      message: {
        post: {
          tags: ['runs'],
          summary: 'The end of a run, or an approval it waits for',
          security: [],
          parameters: parameters('', {
            headers: {
              'webhook-id': Type.String({ description: 'The same in every attempt' }),
              'webhook-timestamp': Type.Integer({ description: 'Seconds since the epoch, of this attempt' }),
              'webhook-signature': Type.String({ description: 'v1, and base64; only if there is a secret' }),
            },
          }),
          requestBody: { required: true, content: json(schemas.WebhookMessageSchema) },
          responses: { '2XX': { description: 'Taken' }, 410: { description: 'Not wanted any more' } },
        },
      },
    },
  };
}

function describe(path: string, operation: Operation): object {
  const { tag, summary, description, open, body, status = 200, answer = AnyObject } = operation;
  const {
    contentType = 'application/json',
    streams,
    also = {},
    errors = [],
    optionalBody = false,
  } = operation;
  const types = [...[contentType].flat(), ...(streams ? ['text/event-stream'] : [])];
  const schemaOf = (type: string): TSchema => {
    if (type === 'text/event-stream') return StreamedEvent;
    // What is not JSON, where JSON is the other choice, is plain bytes.
    return types.includes('application/json') && type !== 'application/json' ? Type.String() : answer;
  };
  const content = types.map((type) => [type, { schema: schemaOf(type) }]);
  const { bodyType = 'application/json' } = operation;
  return {
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(open === true ? { security: [] } : {}),
    parameters: parameters(path, operation),
    ...(body === undefined
      ? {}
      : { requestBody: { required: !optionalBody, content: { [bodyType]: { schema: body } } } }),
    responses: {
      ...Object.fromEntries(
        Object.entries({ [status]: 'As asked', ...also }).map(([code, reason]) => [
          code,
          { description: reason, ...(BODILESS.has(code) ? {} : { content: Object.fromEntries(content) }) },
        ]),
      ),
      ...Object.fromEntries(
        errors.map((error) => [
          error,
          {
            description: ERRORS[error],
            content: json(path.startsWith('/api/jobs') ? AnyError : schemas.ErrorSchema),
          },
        ]),
      ),
    },
  };
}

function parameters(
  path: string,
  { headers = {}, query = {}, required = [] }: Pick<Operation, 'headers' | 'query' | 'required'>,
): object[] {
  const named = (where: string, entries: Record<string, TSchema>): object[] =>
    Object.entries(entries).map(([name, schema]) => ({
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      // An empty `?limit=` counts as absent; see query.ts.
      ...(where === 'query' && !required.includes(name) ? { allowEmptyValue: true } : {}),
      schema,
    }));
  return [
    ...Object.entries(PATH_PARAMETERS).flatMap(([name, schema]) =>
      path.includes(`{${name}}`) ? named('path', { [name]: schema }) : [],
    ),
    ...named('header', headers),
    ...named('query', query),
  ];
}

function json(schema: TSchema): object {
  return { 'application/json': { schema } };
}
