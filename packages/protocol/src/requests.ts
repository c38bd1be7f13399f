/**
 * Reads request bodies. Each function takes a parsed JSON value. It returns a value that needs no further check, or
 * throws a `TalariaError` with the code that PROTOCOL.md names, in the order that PROTOCOL.md names. It is hand-written
 * rather than left to a schema validator because that order and those messages are part of the contract.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';
import { type Content, type HistoryMessage, parseHistory, parseInput } from './messages.ts';
import { parseModelSettings } from './model-settings.ts';
import { type OutputForm, parseOutputSchema } from './output-form.ts';
import type { ApprovalChoice, ModelSettings } from './run.ts';
import { type ClientTools, parseClientTools } from './tool-requests.ts';
import { parseWebhook, type WebhookRequest } from './webhook-request.ts';
import { parseWorkspace, type WorkspaceRequest } from './workspace-request.ts';

export interface CreateRun {
  prompt: Content;
  /**
   * The messages before the prompt; `undefined` when the request has none, so that a stored session may provide them.
   */
  history: HistoryMessage[] | undefined;
  /** Messages before the prompt that continue the stored conversation; `history` would replace it. */
  leadIn?: HistoryMessage[] | undefined;
  instructions: string | undefined;
  sessionId: string | undefined;
  previousResponseId: string | undefined;
  /** `null` means no webhook, not even the server's default. */
  webhook?: WebhookRequest | null | undefined;
  clientTools?: ClientTools | undefined;
  outputForm?: OutputForm | undefined;
  settings?: ModelSettings | undefined;
  /** What is in the workspace before the first step. */
  workspace?: WorkspaceRequest | undefined;
}

const SESSION_ID_MAX = 256;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(header)) throw new TalariaError('invalid_idempotency_key');
  return header;
}

export function parseCreateRun(body: unknown): CreateRun {
  const fields = parseObject(body);
  const { input } = fields;
  if (input === undefined || input === null || input === '' || (Array.isArray(input) && input.length === 0)) {
    throw new TalariaError('missing_input', { param: 'input' });
  }
  const { prompt, earlier } = parseInput(input);
  const explicit = parseHistory(fields.conversation_history);
  const previousResponseId = optionalString(fields, 'previous_response_id');
  const given = earlier.length > 0 ? earlier : undefined;
  const goesOn = explicit === undefined && previousResponseId !== undefined;
  return {
    prompt,
    history: explicit ?? (goesOn ? undefined : given),
    leadIn: goesOn ? given : undefined,
    instructions: optionalString(fields, 'instructions'),
    sessionId: parseSessionName(optionalString(fields, 'session_id') ?? '', 'session_id'),
    previousResponseId,
    webhook: parseWebhook(fields.webhook),
    clientTools: parseClientTools(fields),
    outputForm: parseOutputSchema(fields.output_schema),
    settings: parseModelSettings(fields),
    workspace: parseWorkspace(fields.workspace),
  };
}

/** A session id, from any field; undefined for an empty one, which some clients send for none. */
export function parseSessionName(value: string, param: string): string | undefined {
  if (value === '') return undefined;
  if (value.length > SESSION_ID_MAX || /\p{Cc}/u.test(value)) {
    throw invalid(
      param,
      `'${param}' must have at most ${SESSION_ID_MAX} characters and no control characters`,
    );
  }
  return value;
}

export interface UpdateRun {
  /** True keeps the run until false takes that back. */
  keep: boolean;
}

export function parseUpdateRun(body: unknown): UpdateRun {
  const { keep } = parseObject(body);
  if (typeof keep !== 'boolean') throw invalid('keep', "'keep' must be true or false");
  return { keep };
}

export interface ApprovalAnswer {
  choice: ApprovalChoice;
  requestId: string | undefined;
  all: boolean;
  /** Why it is denied. */
  message?: string | undefined;
}

const CHOICES: ReadonlyMap<unknown, ApprovalChoice> = new Map<unknown, ApprovalChoice>([
  ['once', 'once'],
  ['session', 'session'],
  ['always', 'always'],
  ['deny', 'deny'],
  ['approve', 'once'],
  ['approved', 'once'],
  ['allow', 'once'],
]);

export function parseApprovalAnswer(body: unknown): ApprovalAnswer {
  const fields = parseObject(body);
  const choice = CHOICES.get(fields.choice);
  if (choice === undefined) throw new TalariaError('invalid_approval_choice', { param: 'choice' });
  const requestId = fields.request_id;
  if (requestId !== undefined && requestId !== null && (typeof requestId !== 'string' || requestId === '')) {
    throw new TalariaError('invalid_approval_request', { param: 'request_id' });
  }
  return {
    choice,
    requestId: requestId ?? undefined,
    all: optionalFlag(fields, 'all') || optionalFlag(fields, 'resolve_all'),
    message: parseDenialMessage(fields.message, choice),
  };
}

/** How many characters the reason of a denial may have. */
export const APPROVAL_MESSAGE_MAX = 10_000;

/** A form sends an empty field for none. */
function parseDenialMessage(message: unknown, choice: ApprovalChoice): string | undefined {
  if (message === undefined || message === null || message === '') return undefined;
  const refuse = (why: string) =>
    new TalariaError('invalid_approval_request', { message: why, param: 'message' });
  if (typeof message !== 'string') throw refuse("'message' must be text");
  if (choice !== 'deny') throw refuse("'message' goes with the choice deny only");
  if (message.length > APPROVAL_MESSAGE_MAX) {
    throw refuse(`'message' must have at most ${APPROVAL_MESSAGE_MAX} characters`);
  }
  return message.trim() === '' ? undefined : message;
}

const STEER_MAX = 100_000;

export function parseSteer(body: unknown): string {
  const { input } = parseObject(body);
  if (typeof input !== 'string' || input.trim() === '') {
    throw new TalariaError('invalid_steer_input', { param: 'input' });
  }
  if (input.length > STEER_MAX) {
    throw new TalariaError('invalid_steer_input', {
      message: `'input' must have at most ${STEER_MAX} characters`,
      param: 'input',
    });
  }
  return input;
}
