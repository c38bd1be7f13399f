/**
 * Reads the body of `POST /v1/chat/completions`. The agent works with its own tools, model settings and limits, so most of
 * what OpenAI's dialect can ask for is ignored; refused is what would leave a client waiting for something it never gets.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';
import { type Content, type HistoryMessage, isBlank, parseMessage } from './messages.ts';

export interface CreateChat {
  /** The last message of a user. */
  prompt: Content;
  /** What stands before it, without the system's messages. */
  history: HistoryMessage[];
  /** The system's messages. */
  instructions: string | undefined;
  model: string | undefined;
  stream: boolean;
}

export function parseCreateChat(body: unknown): CreateChat {
  const fields = parseObject(body);
  const { messages: given } = fields;
  if (!Array.isArray(given) || given.length === 0) {
    throw new TalariaError('missing_messages', { param: 'messages' });
  }
  const messages = given
    .map((entry: unknown, i) => parseMessage(withContent(entry), `messages[${i}]`))
    .filter(({ content }) => !isBlank(content));
  const instructions = messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => textOf(content))
    .join('\n\n');
  const spoken = messages.filter(({ role }) => role !== 'system');
  // Instructions alone are answered, as OpenAI's models do.
  const isAlone = spoken.length === 0 && instructions !== '';
  if (isAlone) spoken.push({ role: 'user', content: instructions });
  const last = spoken.findLastIndex(({ role }) => role === 'user');
  if (last === -1) {
    const message = "No user message found in 'messages'";
    throw new TalariaError('no_user_message', { message, param: 'messages' });
  }
  refuseUnmet(fields);
  return {
    prompt: spoken[last]!.content,
    history: spoken.slice(0, last),
    instructions: isAlone || instructions === '' ? undefined : instructions,
    model: optionalString(fields, 'model') || undefined,
    stream: optionalFlag(fields, 'stream'),
  };
}

/** An assistant's message that only called tools may have no content at all. */
function withContent(entry: unknown): unknown {
  const isBare = typeof entry === 'object' && entry !== null && 'role' in entry && entry.role === 'assistant';
  return isBare ? { content: null, ...entry } : entry;
}

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function refuseUnmet({ n, tool_choice, response_format }: Record<string, unknown>): void {
  if (n !== undefined && n !== null && n !== 1) {
    throw invalid('n', "'n' must be 1: a run gives one answer");
  }
  if (tool_choice === 'required' || (typeof tool_choice === 'object' && tool_choice !== null)) {
    throw invalid('tool_choice', "'tool_choice' cannot force a call: the agent uses the tools of the server");
  }
  const format = typeof response_format === 'object' && response_format !== null ? response_format : {};
  if ('type' in format && format.type !== 'text') {
    throw invalid('response_format', "'response_format' must be text: the agent's answer has no set form");
  }
}
