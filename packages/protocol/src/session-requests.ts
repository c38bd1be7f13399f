/** Reads the bodies of `/api/sessions`, as requests.ts reads those of runs. */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';
import { type Content, isBlank, parseMessage } from './messages.ts';
import { parseSessionName } from './requests.ts';

export interface ForkSession {
  sessionId: string | undefined;
  /** How many messages the fork starts with; undefined means all. */
  messages: number | undefined;
  /** Undefined means that of the original session. */
  title: string | null | undefined;
}

export function parseForkSession(body: unknown): ForkSession {
  const fields = parseObject(body);
  const messages = fields.messages ?? undefined;
  if (messages !== undefined && (!Number.isSafeInteger(messages) || Number(messages) < 0)) {
    throw invalid('messages', "'messages' must be a whole number, not less than 0");
  }
  return {
    sessionId: parseNewName(fields),
    messages: messages as number | undefined,
    title: fields.title === undefined || fields.title === null ? undefined : parseTitle(fields.title),
  };
}

export interface CreateSession {
  /** Undefined: the server makes one up. */
  sessionId: string | undefined;
  title: string | null;
  systemPrompt: string | null;
  source: string | null;
  model: string | null;
  /** The session must use this model and no other. */
  requiresModel: boolean;
}

export function parseCreateSession(body: unknown): CreateSession {
  const fields = parseObject(body);
  const sessionId = parseNewName(fields);
  const systemPrompt = fields.system_prompt ?? null;
  if (systemPrompt !== null && (typeof systemPrompt !== 'string' || systemPrompt.includes('\0'))) {
    throw new TalariaError('invalid_system_prompt', { param: 'system_prompt' });
  }
  const model = parseLabel(fields, 'model');
  const requiresModel = optionalFlag(fields, 'require_model_lock');
  if (requiresModel && model === null) throw new TalariaError('missing_model', { param: 'model' });
  return {
    sessionId,
    title: parseTitle(fields.title ?? null),
    systemPrompt: systemPrompt === null || systemPrompt.trim() === '' ? null : systemPrompt,
    source: parseLabel(fields, 'source'),
    model,
    requiresModel,
  };
}

export interface UpdateSession {
  title?: string | null;
  endReason?: string | null;
  pinned?: boolean;
  archived?: boolean;
  hidden?: boolean;
  unread?: boolean;
}

const FLAGS = ['pinned', 'archived', 'hidden', 'unread'] as const;
const CHANGEABLE: ReadonlySet<string> = new Set(['title', 'end_reason', ...FLAGS]);

export function parseUpdateSession(body: unknown): UpdateSession {
  const fields = parseObject(body);
  const unknown = Object.keys(fields).filter((name) => !CHANGEABLE.has(name));
  if (unknown.length > 0) {
    const message = `Unsupported session fields: ${unknown.sort().join(', ').slice(0, LABEL_MAX)}`;
    throw new TalariaError('unsupported_session_field', { message, param: unknown[0]!.slice(0, LABEL_MAX) });
  }
  const change: UpdateSession = {};
  if (fields.title !== undefined) change.title = parseTitle(fields.title);
  if (fields.end_reason !== undefined) change.endReason = parseLabel(fields, 'end_reason');
  for (const flag of FLAGS) {
    const value = fields[flag];
    if (value === undefined) continue;
    if (typeof value !== 'boolean') {
      const message = `'${flag}' must be true or false`;
      throw new TalariaError('invalid_session_field', { message, param: flag });
    }
    change[flag] = value;
  }
  return change;
}

export interface SessionChatInput {
  prompt: Content;
  /** For this turn only. */
  instructions: string | undefined;
}

export function parseSessionChat(body: unknown): SessionChatInput {
  const fields = parseObject(body);
  const content = fields.message ?? fields.input;
  if (content === undefined || content === null)
    throw new TalariaError('missing_message', { param: 'message' });
  // Both are read: an invalid one is refused even if the other one counts.
  const [prompt] = [content, fields.input ?? content].map(
    (given) => parseMessage({ role: 'user', content: given }, 'message').content,
  );
  if (prompt === undefined || isBlank(prompt))
    throw new TalariaError('missing_message', { param: 'message' });
  const instructions = fields.system_message ?? fields.instructions ?? undefined;
  if (instructions !== undefined && typeof instructions !== 'string') {
    throw new TalariaError('invalid_system_message', { param: 'system_message' });
  }
  return { prompt, instructions: instructions?.trim() === '' ? undefined : instructions };
}

/** Reads the name of a new session, under either of the names that clients use. */
function parseNewName(fields: Record<string, unknown>): string | undefined {
  try {
    // Both are read: an invalid one is refused even if the other one counts.
    const [id, sessionId] = ['id', 'session_id'].map((name) =>
      parseSessionName(optionalString(fields, name)?.trim() ?? '', 'id'),
    );
    return id ?? sessionId;
  } catch (error) {
    const message = error instanceof Error ? error.message : undefined;
    throw new TalariaError('invalid_session_id', {
      ...(message === undefined ? {} : { message }),
      param: 'id',
    });
  }
}

const TITLE_MAX = 100;

/** One line, without invisible characters; an empty one counts as absent. */
function parseTitle(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value !== 'string') throw new TalariaError('invalid_title', { param: 'title' });
  const title = value
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
    .trim();
  if (title.length > TITLE_MAX) throw new TalariaError('invalid_title', { param: 'title' });
  return title === '' ? null : title;
}

const LABEL_MAX = 256;

/** A short text that is stored and shown; an empty one counts as absent. */
function parseLabel(fields: Record<string, unknown>, name: string): string | null {
  const label = optionalString(fields, name)?.trim() ?? '';
  if (label.length > LABEL_MAX || /\p{Cc}/u.test(label)) {
    const message = `'${name}' must have at most ${LABEL_MAX} characters and no control characters`;
    throw new TalariaError('invalid_session_field', { message, param: name });
  }
  return label === '' ? null : label;
}
