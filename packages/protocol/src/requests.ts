/**
 * Reads request bodies. Each function takes what JSON gave and returns a value that needs no further check,
 * or throws a `TalariaError` with the code PROTOCOL.md names, in the order PROTOCOL.md names. Hand-written rather than
 * left to a schema validator because that order and those messages are part of the contract.
 */
import { type ErrorDetails, TalariaError } from './errors.ts';
import type { ApprovalChoice } from './run.ts';

export interface TextContent {
  type: 'text';
  text: string;
}

export interface ImageContent {
  type: 'image';
  url: string;
}

export type Content = string | (TextContent | ImageContent)[];

export interface HistoryMessage {
  role: 'system' | 'user' | 'assistant';
  content: Content;
}

export interface CreateRun {
  prompt: Content;
  /** Turns before the prompt; `undefined` when the request gave none, so that a stored session may provide them. */
  history: HistoryMessage[] | undefined;
  instructions: string | undefined;
  sessionId: string | undefined;
  previousResponseId: string | undefined;
}

const SESSION_ID_MAX = 256;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(header)) throw new TalariaError('invalid_idempotency_key');
  return header;
}

export function parseObject(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new TalariaError('body_not_object');
  }
  return body as Record<string, unknown>;
}

export function parseCreateRun(body: unknown): CreateRun {
  const fields = parseObject(body);
  const { input } = fields;
  if (input === undefined || input === null || input === '' || (Array.isArray(input) && input.length === 0)) {
    throw new TalariaError('missing_input', { param: 'input' });
  }
  const { prompt, earlier } = parseInput(input);
  const explicit = parseHistory(fields.conversation_history);
  return {
    prompt,
    history: explicit ?? (earlier.length > 0 ? earlier : undefined),
    instructions: optionalString(fields, 'instructions'),
    sessionId: parseSessionId(fields),
    previousResponseId: optionalString(fields, 'previous_response_id'),
  };
}

function parseInput(input: unknown): { prompt: Content; earlier: HistoryMessage[] } {
  if (typeof input === 'string') {
    if (input.trim() === '') throw new TalariaError('no_user_message', { param: 'input' });
    return { prompt: input, earlier: [] };
  }
  if (!Array.isArray(input)) {
    throw invalid('input', "'input' must be a string or an array of messages");
  }
  const messages = input.map((entry: unknown, i) =>
    typeof entry === 'string'
      ? { role: 'user' as const, content: entry }
      : parseMessage(entry, `input[${i}]`),
  );
  const last = messages.at(-1);
  if (last === undefined || isBlank(last.content)) {
    throw new TalariaError('no_user_message', { param: 'input' });
  }
  return { prompt: last.content, earlier: messages.slice(0, -1).filter((m) => !isBlank(m.content)) };
}

function parseHistory(value: unknown): HistoryMessage[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw new TalariaError('invalid_history', { param: 'conversation_history' });
  // Clients that always send the field send it empty when they have nothing to say by it.
  if (value.length === 0) return undefined;
  return value
    .map((entry: unknown, i) => parseMessage(entry, `conversation_history[${i}]`))
    .filter((m) => !isBlank(m.content));
}

function parseMessage(entry: unknown, where: string): HistoryMessage {
  const fields = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : {};
  if (typeof fields.role !== 'string' || !('content' in fields)) {
    throw new TalariaError('invalid_history', {
      message: `${where} must have 'role' and 'content' fields`,
      param: where,
    });
  }
  return { role: toRole(fields.role), content: parseContent(fields.content, where) };
}

/** Tool results without their call cannot be sent to a provider as such; they remain readable as user text. */
function toRole(role: string): HistoryMessage['role'] {
  if (role === 'assistant') return 'assistant';
  return role === 'system' || role === 'developer' ? 'system' : 'user';
}

function parseContent(content: unknown, where: string): Content {
  if (typeof content === 'string') return content;
  // An assistant turn that only called tools has null content in OpenAI's dialect.
  if (content === null) return '';
  if (!Array.isArray(content)) {
    throw invalid(`${where}.content`, `${where}.content must be a string or an array of content parts`);
  }
  return content.map((part: unknown, i) => parsePart(part, `${where}.content[${i}]`));
}

function parsePart(part: unknown, where: string): TextContent | ImageContent {
  if (typeof part === 'string') return { type: 'text', text: part };
  const fields = typeof part === 'object' && part !== null ? (part as Record<string, unknown>) : {};
  const { type, text } = fields;
  if ((type === 'text' || type === 'input_text' || type === 'output_text') && typeof text === 'string') {
    return { type: 'text', text };
  }
  if (type === 'image_url' || type === 'input_image') {
    const image = fields.image_url;
    const url =
      typeof image === 'object' && image !== null && 'url' in image ? (image as { url: unknown }).url : image;
    if (typeof url === 'string' && /^(https?:\/\/|data:image\/)/i.test(url)) return { type: 'image', url };
  }
  throw invalid(where, `${where} must be a text part or an image part with an http(s) or data:image URL`);
}

function isBlank(content: Content): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content.every((part) => part.type === 'text' && part.text.trim() === '');
}

function parseSessionId(fields: Record<string, unknown>): string | undefined {
  const value = optionalString(fields, 'session_id');
  if (value === undefined || value === '') return undefined;
  if (value.length > SESSION_ID_MAX || /\p{Cc}/u.test(value)) {
    throw invalid(
      'session_id',
      `'session_id' must have at most ${SESSION_ID_MAX} characters and no control characters`,
    );
  }
  return value;
}

function optionalString(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw invalid(name, `'${name}' must be a string`);
  return value;
}

export interface ApprovalAnswer {
  choice: ApprovalChoice;
  requestId: string | undefined;
  all: boolean;
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
  };
}

function optionalFlag(fields: Record<string, unknown>, name: string): boolean {
  const value = fields[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw invalid(name, `'${name}' must be true or false`);
  return value;
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

function invalid(param: string, message: string): TalariaError {
  const details: ErrorDetails = { message, param };
  return new TalariaError('invalid_request', details);
}
