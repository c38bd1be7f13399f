/**
 * Every error code that a client can meet, each defined once.
 *
 * `API_ERRORS` are answers to requests: a driver or the engine throws a `TalariaError` with the code, and
 * only the HTTP layer turns it into a status. `RUN_FAILURES` are the reasons why a run ended as `failed`; they appear
 * in
 * `error_code`, and become a status only where the response to a request is the run itself. docs/errors.md lists
 * exactly these codes, and a test compares.
 */

interface ApiErrorEntry {
  status: number;
  type: 'invalid_request_error' | 'rate_limit_error' | 'server_error';
  /** Whether the same request can succeed later without changes. */
  retryable: boolean;
  message: string;
}

const refused = (status: number, message: string): ApiErrorEntry => ({
  status,
  type: 'invalid_request_error',
  retryable: false,
  message,
});

export const API_ERRORS = {
  invalid_api_key: refused(401, 'Invalid API key'),
  origin_not_allowed: refused(403, 'This origin may not call the server'),
  host_not_allowed: refused(403, 'A server without an API key answers only to a loopback host name'),
  session_needs_key: refused(403, 'Session headers need a server with an API key'),
  not_found: refused(404, 'No such route'),
  no_api: refused(
    421,
    'This process only works on runs (TALARIA_ROLE is work); send the request to a server whose role is http or all',
  ),
  no_sandbox: refused(
    421,
    'This process has no sandbox (TALARIA_ROLE is http); send the request to a server with --slots whose role is work or all',
  ),
  model_not_found: refused(404, 'No such model'),
  embeddings_unavailable: refused(404, 'This server makes no embeddings'),
  method_not_allowed: refused(405, 'This route does not take that method'),
  invalid_request: refused(400, 'The request is not valid'),
  invalid_json: refused(400, 'Invalid JSON in request body'),
  body_not_object: refused(400, 'The request body must be a JSON object'),
  body_too_large: refused(413, 'The request body is larger than 10000000 bytes'),
  unsupported_encoding: refused(415, "The 'Content-Encoding' of the request must be gzip, br or deflate"),
  invalid_encoding: refused(400, "The request body is not encoded as its 'Content-Encoding' says"),
  missing_input: refused(400, "Missing 'input' field"),
  missing_messages: refused(400, "Missing or invalid 'messages' field"),
  no_user_message: refused(400, 'No user message found in input'),
  invalid_history: refused(400, "'conversation_history' must be an array of message objects"),
  invalid_workspace: refused(400, "'workspace' does not say what the run should begin with"),
  invalid_webhook: refused(400, "'webhook' must be an object with the URL of a public host"),
  invalid_idempotency_key: refused(400, "'Idempotency-Key' must be 1 to 255 visible ASCII characters"),
  idempotency_key_conflict: refused(
    409,
    'This Idempotency-Key was used with another request body; use a new key for a new request',
  ),
  run_not_found: refused(404, 'Run not found'),
  run_not_active: refused(404, 'The run has already finished'),
  run_cancelled: refused(400, 'The run was stopped before it had answered'),
  response_not_found: refused(404, 'Response not found'),
  response_events_gone: refused(
    404,
    'The events of this response were evicted with its run; get the response itself, without a stream',
  ),
  response_not_finished: refused(409, 'The response is not finished; wait for its end or cancel it first'),
  response_not_active: refused(409, 'The response has already finished'),
  response_not_background: refused(
    400,
    'Only a background response can be cancelled; the others end when their reader leaves',
  ),
  previous_response_not_found: refused(404, 'Previous response not found'),
  previous_response_not_completed: refused(409, 'The previous response has not completed'),
  invalid_cursor: refused(400, 'The cursor cannot be served'),
  invalid_approval_choice: refused(400, "'choice' must be one of once, session, always, deny"),
  invalid_approval_request: refused(400, "'request_id' must be the id of an approval request"),
  approval_not_pending: refused(
    409,
    'No such approval is pending: it was answered, timed out or never asked',
  ),
  approval_not_active: refused(409, 'The run has finished and takes no approvals'),
  invalid_tools: refused(400, "'tools' must be an array of functions with a name and a JSON schema"),
  invalid_tool_outputs: refused(
    400,
    "'outputs' must be an array of objects with 'tool_call_id' and 'output'",
  ),
  grant_not_found: refused(404, 'There is no such grant'),
  call_not_found: refused(404, 'The run has no such tool call'),
  call_not_pending: refused(
    409,
    'No such call is pending: it was answered with something else, timed out, or is not a call of a client tool',
  ),
  invalid_output_schema: refused(400, 'The schema of the output must be a JSON schema'),
  invalid_steer_input: refused(400, "'input' must be a non-empty string"),
  run_not_accepting_steer: refused(409, 'The run is not running and takes no steering'),
  invalid_path: refused(400, 'The path does not name a file or directory of the workspace'),
  artifact_not_found: refused(404, 'There is nothing at this path of the workspace'),
  range_not_satisfiable: refused(416, 'The file has no bytes in the requested range'),
  artifact_changed: refused(409, 'The file changed while it was read; read it again'),
  artifact_too_large: refused(413, 'The archive or file is larger than the limit'),
  precondition_failed: refused(412, 'The file is not the version that the request names; read it again'),
  artifact_not_removed: refused(
    409,
    'The directory could not be deleted as a whole: the permissions of something in it forbid that; what is left can be listed',
  ),
  workspace_full: refused(413, 'The workspace has no room for the file; remove others first'),
  checkpoint_gone: refused(409, 'The files were not kept at that point'),
  file_not_found: refused(404, 'File not found'),
  file_too_large: refused(413, 'The file is larger than this server allows'),
  file_quota_exceeded: refused(413, 'This key has reached its limit of stored files; delete some first'),
  slots_unavailable: refused(
    404,
    'This server gives out no slots; start it with --slots (TALARIA_SLOTS=true)',
  ),
  slot_not_found: refused(
    404,
    'Slot not found: it was released, was not used for too long, or the server was restarted; acquire one again',
  ),
  invalid_job_id: refused(400, 'Invalid job ID format'),
  job_not_found: refused(404, 'Job not found'),
  missing_job_name: refused(400, 'Name is required'),
  missing_schedule: refused(400, 'Schedule is required'),
  invalid_schedule: refused(400, 'The schedule is not a duration, a time, an interval or a cron expression'),
  job_running: refused(409, 'The job is running; wait for the end of its run or stop it first'),
  too_many_jobs: refused(409, 'This key has reached its limit of jobs; delete one first'),
  session_not_found: refused(404, 'Session not found'),
  session_exists: refused(409, 'A session of this name exists already'),
  invalid_session_id: refused(400, "'id' must be text of at most 256 characters, without control characters"),
  invalid_title: refused(400, "'title' must be text of at most 100 characters"),
  invalid_system_prompt: refused(400, "'system_prompt' must be a string without zero characters"),
  invalid_session_field: refused(400, 'A field of the session has an invalid value'),
  unsupported_session_field: refused(400, 'A field of the request cannot be changed'),
  missing_model: refused(400, "'require_model_lock' needs a 'model'"),
  model_lock_unavailable: refused(
    409,
    'The server works with its own model and cannot lock a session to another',
  ),
  missing_message: refused(400, "Missing 'message' field"),
  invalid_system_message: refused(400, "'system_message' must be a string"),
  invalid_pagination: refused(400, "'limit', 'offset' or 'order' is not valid"),
  session_active_turn: refused(409, 'A run of this session is unfinished; wait for its end or stop it first'),
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    retryable: true,
    message: 'Too many runs are waiting; try again later',
  },
  too_many_bodies: {
    status: 429,
    type: 'rate_limit_error',
    retryable: true,
    message: 'This key has reached its limit of bytes in pending request bodies; try again later',
  },
  too_many_steers: {
    status: 429,
    type: 'rate_limit_error',
    retryable: true,
    message: 'The run has 32 steers waiting for its next step; try again when it has taken them',
  },
  no_slot_free: {
    status: 429,
    type: 'rate_limit_error',
    retryable: true,
    message: 'No slot became free in time; release one, or try again later',
  },
  gateway_draining: {
    status: 503,
    type: 'server_error',
    retryable: true,
    message: 'The server is shutting down and takes no new work',
  },
  server_busy: {
    status: 503,
    type: 'server_error',
    retryable: true,
    message: 'The server has reached its limit of bytes in pending request bodies; try again later',
  },
  store_unavailable: {
    status: 503,
    type: 'server_error',
    retryable: true,
    message: 'The store did not accept the write; nothing was changed',
  },
  workspace_unavailable: {
    status: 503,
    type: 'server_error',
    retryable: true,
    message: 'The server that holds the files of this run does not answer',
  },
  workspace_not_ready: {
    status: 503,
    type: 'server_error',
    retryable: true,
    message: 'The run has no workspace yet: it gets one when work on it begins; try again then',
  },
  sandbox_unavailable: {
    status: 503,
    type: 'server_error',
    retryable: true,
    message: 'The sandbox does not work at the moment',
  },
  slot_not_closed: {
    status: 500,
    type: 'server_error',
    retryable: false,
    message:
      'The slot is released, but could not be cleaned: its files may be those from when it was acquired, and were not reset',
  },
  internal_error: { status: 500, type: 'server_error', retryable: false, message: 'Internal server error' },
} as const satisfies Record<string, ApiErrorEntry>;

export type ApiErrorCode = keyof typeof API_ERRORS;

/**
 * The retryable codes of the table again: a client in a browser needs only these, and would otherwise bundle all
 * messages. A test compares.
 */
export const RETRYABLE_CODES = [
  'rate_limit_exceeded',
  'too_many_bodies',
  'too_many_steers',
  'no_slot_free',
  'gateway_draining',
  'server_busy',
  'store_unavailable',
  'workspace_unavailable',
  'workspace_not_ready',
  'sandbox_unavailable',
] as const satisfies ApiErrorCode[];

/** Why a run ended as `failed`: code → what it means. */
export const RUN_FAILURES = {
  provider_auth: 'The model provider refused the credentials',
  provider_rate_limit: 'The model provider kept refusing because of load or quota',
  provider_unavailable: 'The model provider could not be reached or kept failing',
  provider_bad_request: 'The model provider refused the request',
  provider_error: 'The model provider sent a response that cannot be read',
  context_overflow: "The conversation is longer than the model's context",
  content_filtered: 'The model provider withheld the answer',
  output_truncated: 'The answer reached the output limit of the model and is incomplete',
  empty_output: 'The model ended without text and without a tool call',
  invalid_output: 'The answer did not satisfy the requested schema',
  step_limit: 'The run used all its steps',
  time_limit: 'The run used all its time',
  token_limit: 'The run used all its tokens',
  workspace_setup: 'The files that the run should begin with could not be put in place',
  recovery_limit: 'The run was interrupted again and again without making progress',
  internal_error: 'The server failed for an unknown reason; its log has the details',
} as const;

export type RunFailureCode = keyof typeof RUN_FAILURES;

/**
 * The status of a response whose run failed. Clients retry after 409, 429 and 5xx, many of them whatever
 * `x-should-retry` says, and each retry would be another run with the effects of its tools. LangChain's JavaScript
 * client retries whatever is not on its short list, which has 400 but neither 422 nor 424, though those would fit the
 * meaning better. Its older versions cannot be told from OpenAI's library, so everybody gets 400.
 */
export const RUN_FAILURE_STATUS = 400;

export interface ErrorDetails {
  message?: string;
  param?: string;
  /** Seconds, for the header `Retry-After`. */
  retryAfterS?: number;
  cause?: unknown;
}

export class TalariaError extends Error {
  override readonly name = 'TalariaError';
  readonly code: ApiErrorCode;
  readonly param: string | null;
  readonly retryAfterS: number | undefined;

  constructor(code: ApiErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? API_ERRORS[code].message, { cause: details.cause });
    this.code = code;
    this.param = details.param ?? null;
    this.retryAfterS = details.retryAfterS;
  }
}

export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

export function toErrorBody(error: TalariaError): ErrorBody {
  const { type } = API_ERRORS[error.code];
  return { error: { message: error.message, type, param: error.param, code: error.code } };
}
