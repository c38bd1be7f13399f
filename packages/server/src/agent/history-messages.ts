/** The messages of a request's history, as a conversation has them. */
import type { HistoryMessage } from '@talaria/protocol';
import type { Message } from '../journal/messages.ts';

export function toMessages(history: readonly HistoryMessage[]): Message[] {
  const tools = new Map(
    history.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id, tool }) => [id, tool] as const)),
  );
  return history.map((message) => toMessage(message, tools));
}

/** `tools` are the names of the tools that were called, by call. */
function toMessage(message: HistoryMessage, tools: ReadonlyMap<string, string>): Message {
  const { role, content } = message;
  switch (role) {
    case 'assistant': {
      const text = plainText(content);
      const calls = message.tool_calls?.map((call) => ({ type: 'tool_call' as const, ...call })) ?? [];
      return { role, content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls] };
    }
    case 'system':
      return { role, content: plainText(content) };
    case 'tool': {
      const id = message.tool_call_id ?? '';
      const output = plainText(content);
      return { role, tool_call_id: id, tool: tools.get(id) ?? '', output, is_error: false };
    }
    case 'user':
      return { role, content };
  }
}

function plainText(content: string | { type: string; text?: string }[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => part.text ?? '').join('');
}
