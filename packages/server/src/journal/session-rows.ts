/** Rows of the sessions and the domain types they stand for. */
import type { SessionFiles } from './checkpoints.ts';
import type { Message } from './messages.ts';
import {
  SESSION_FLAGS,
  type SessionChange,
  type StoredMessage,
  type StoredSession,
  type Turn,
} from './sessions.ts';

/** Flags are booleans in Postgres and numbers in SQLite. */
export interface SessionRow {
  n: number;
  owner: string;
  session_id: string;
  created_at: number;
  used_at: number;
  place: number;
  next_pos: number;
  context_from: number;
  turns: number;
  last_run_id: string | null;
  forked_from: string | null;
  title: string | null;
  system_prompt: string | null;
  source: string | null;
  model: string | null;
  preview: string | null;
  ended_at: number | null;
  end_reason: string | null;
  pinned: boolean | number;
  archived: boolean | number;
  hidden: boolean | number;
  unread: boolean | number;
  tool_calls: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
  /** JSON; see checkpoints.ts. */
  files: string | null;
}

export interface SessionMessageRow {
  pos: number;
  run_id: string;
  at: number;
  message: string;
}

export function toStoredSession(row: SessionRow): StoredSession {
  return {
    sessionId: row.session_id,
    createdAt: row.created_at,
    usedAt: row.used_at,
    nextPos: row.next_pos,
    contextFrom: row.context_from,
    turns: row.turns,
    lastRunId: row.last_run_id,
    forkedFrom: row.forked_from,
    title: row.title,
    systemPrompt: row.system_prompt,
    source: row.source,
    model: row.model,
    preview: row.preview,
    endedAt: row.ended_at,
    endReason: row.end_reason,
    pinned: Boolean(row.pinned),
    archived: Boolean(row.archived),
    hidden: Boolean(row.hidden),
    unread: Boolean(row.unread),
    toolCalls: row.tool_calls,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
  };
}

export function toSessionFiles({ files }: Pick<SessionRow, 'files'>): SessionFiles | undefined {
  return files === null ? undefined : (JSON.parse(files) as SessionFiles);
}

export function toStoredMessage(row: SessionMessageRow): StoredMessage {
  return { pos: row.pos, runId: row.run_id, at: row.at, message: JSON.parse(row.message) as Message };
}

/** In the stored form: with its role first, so that a statement can recognise the kind by the beginning. */
export function toMessageText({ role, ...rest }: Message): string {
  return JSON.stringify({ role, ...rest });
}

/** SQL. The JSON functions of Postgres refuse a message that has an escaped zero character anywhere. */
export const IS_TOOL_RESULT = `message LIKE '{"role":"tool",%'`;

/** The columns that a change sets. */
export function changedColumns(
  { title, endReason, ...flags }: SessionChange,
  now: number,
): [string, string | number | boolean | null][] {
  const columns: [string, string | number | boolean | null][] = [];
  if (title !== undefined) columns.push(['title', title]);
  if (endReason !== undefined) {
    columns.push(['end_reason', endReason], ['ended_at', endReason === null ? null : now]);
  }
  for (const flag of SESSION_FLAGS) {
    const value = flags[flag];
    if (value !== undefined) columns.push([flag, value]);
  }
  return columns;
}

/** Much longer than what is shown, so that a secret that begins in the shown part is complete and can be masked. */
const PREVIEW_CHARS = 1000;

/** The beginning of the first user message. Postgres cannot store a zero character. */
export function previewOf({ messages }: Turn): string | null {
  for (const message of messages) {
    if (message.role !== 'user') continue;
    const { content } = message;
    const text =
      typeof content === 'string'
        ? content
        : content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
    return text.slice(0, PREVIEW_CHARS).replaceAll('\0', '');
  }
  return null;
}

export function toolCallsIn({ messages }: Turn): number {
  return messages.filter(({ role }) => role === 'tool').length;
}
