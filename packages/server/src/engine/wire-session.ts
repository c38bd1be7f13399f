/** Sessions and their messages as clients see them (PROTOCOL.md): OpenAI's shapes, without secrets. */
import type { Session, SessionMessage } from '@talaria/protocol';
import type { AssistantPart, Message } from '../journal/messages.ts';
import { DEFAULT_SOURCE, type StoredMessage, type StoredSession } from '../journal/sessions.ts';
import type { Secrets } from '../secrets/secrets.ts';

/** How much of the first message is shown. */
const PREVIEW_CHARS = 80;

/** `model` is the name of the server's model, for a session that was not created for another one. */
export function toWireSession(session: StoredSession, model: string, { maskKnown }: Secrets): Session {
  const shown = (text: string | null): string | null => text && maskKnown(text);
  return {
    object: 'hermes.session',
    session_id: session.sessionId,
    created_at: session.createdAt / 1000,
    updated_at: session.usedAt / 1000,
    message_count: session.nextPos,
    context_from: session.contextFrom,
    turns: session.turns,
    last_run_id: session.lastRunId,
    forked_from: session.forkedFrom,
    id: session.sessionId,
    title: shown(session.title),
    source: session.source ?? DEFAULT_SOURCE,
    model: session.model ?? model,
    user_id: null,
    started_at: session.createdAt / 1000,
    last_active: session.usedAt / 1000,
    ended_at: session.endedAt === null ? null : session.endedAt / 1000,
    end_reason: shown(session.endReason),
    parent_session_id: session.forkedFrom,
    preview: preview(shown(session.preview)),
    tool_call_count: session.toolCalls,
    input_tokens: session.inputTokens,
    output_tokens: session.outputTokens,
    pinned: session.pinned,
    archived: session.archived,
    hidden: session.hidden,
    unread: session.unread,
    has_system_prompt: session.systemPrompt !== null,
    has_model_config: false,
  };
}

function preview(text: string | null): string | null {
  const line = text?.replace(/\s+/g, ' ').trim() ?? '';
  if (line === '') return null;
  const chars = Array.from(line);
  return chars.length > PREVIEW_CHARS ? `${chars.slice(0, PREVIEW_CHARS).join('')}…` : line;
}

export function toWireMessage(
  sessionId: string,
  { pos, runId, at, message }: StoredMessage,
  secrets: Secrets,
): SessionMessage {
  const said = toOpenAi(message, secrets);
  return {
    index: pos,
    ...said,
    run_id: runId,
    created_at: at / 1000,
    id: pos,
    session_id: sessionId,
    timestamp: at / 1000,
    ...(said.name === undefined ? {} : { tool_name: said.name }),
  };
}

function toOpenAi(message: Message, secrets: Secrets): Pick<SessionMessage, 'role' | 'content' | 'name'> {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: secrets.maskKnown(message.content) };
    case 'user':
      return { role: 'user', content: userContent(message.content, secrets) };
    case 'assistant':
      return { role: 'assistant', ...assistantContent(message.content, secrets) };
    case 'tool': {
      const { tool_call_id, tool, output } = message;
      const named = { tool_call_id, name: secrets.mask(tool) };
      return { role: 'tool', content: secrets.mask(output), ...named };
    }
  }
}

function userContent(
  content: Extract<Message, { role: 'user' }>['content'],
  { maskKnown }: Secrets,
): SessionMessage['content'] {
  if (typeof content === 'string') return maskKnown(content);
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: maskKnown(part.text) }
      : { type: 'image_url', image_url: { url: maskKnown(part.url) } },
  );
}

/** Reasoning is not part of the message. */
function assistantContent(
  parts: readonly AssistantPart[],
  { mask, maskKnown, maskJson }: Secrets,
): Pick<SessionMessage, 'content' | 'tool_calls'> {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const calls = parts.filter((part) => part.type === 'tool_call');
  return {
    content: text === '' && calls.length > 0 ? null : maskKnown(text),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: mask(call.tool), arguments: maskJson(call.arguments) },
          })),
        }),
  };
}
