/**
 * Turns the items in the `input` of a response into messages. A client sends back items that it got from this server or
 * from another one that speaks OpenAI's dialect, so every type is accepted. A call and its output become a call and its
 * result. Items that no model could use (reasoning, lists of tools, searches) are left out.
 */
import { TalariaError } from './errors.ts';
import { type HistoryCall, type HistoryMessage, parseMessage } from './messages.ts';
import { outputText } from './tool-requests.ts';

type Fields = Record<string, unknown>;

/** The id of a call as a conversation lists it. After these digits it names the conversation. */
const CONVERSATION_CALL = /^(mcp_[0-9a-f]{36})_/;

export function messagesOfItems(items: readonly unknown[], param = 'input'): HistoryMessage[] {
  const messages: HistoryMessage[] = [];
  for (const [i, item] of items.entries()) {
    for (const message of messagesOfItem(item, `${param}[${i}]`)) {
      const last = messages.at(-1);
      // Calls that were made together come one by one, after the text that was said with them.
      if (last?.role === 'assistant' && message.tool_calls !== undefined) {
        last.tool_calls = [...(last.tool_calls ?? []), ...message.tool_calls];
      } else {
        messages.push(message);
      }
    }
  }
  return messages;
}

/** Whether the item only refers to a stored one. OpenAI's clients may leave the type out. */
export function referenceIn(item: unknown): string | undefined {
  if (!isObject(item) || typeof item.id !== 'string') return undefined;
  const isBare = (item.type === undefined || item.type === null) && !('role' in item);
  return item.type === 'item_reference' || isBare ? item.id : undefined;
}

function messagesOfItem(item: unknown, where: string): HistoryMessage[] {
  if (typeof item === 'string') return [{ role: 'user', content: item }];
  const fields = isObject(item) ? item : {};
  const { type } = fields;
  const isMessage = type === 'message' || ('role' in fields && 'content' in fields);
  if (isMessage) return [parseMessage(fields, where)];
  if (typeof type !== 'string') {
    const message = `${where} must be a message with 'role' and 'content', or an item with a 'type'`;
    throw new TalariaError('invalid_history', { message, param: where });
  }
  if (type === 'mcp_call') return callWithResult(fields, outputText(fields.output ?? fields.error));
  if (type === 'code_interpreter_call') return codeRun(fields);
  if (typeof fields.call_id !== 'string') return [];
  if (type.endsWith('_call')) return [calling(fields, fields.call_id)];
  if (type.endsWith('_output')) {
    return [{ role: 'tool', content: outputText(fields.output), tool_call_id: fields.call_id }];
  }
  return [];
}

function calling({ type, name, arguments: args, input, action }: Fields, id: string): HistoryMessage {
  const call: HistoryCall = {
    id,
    tool: typeof name === 'string' ? name : String(type).slice(0, -'_call'.length),
    arguments: typeof args === 'string' ? args : JSON.stringify(action ?? { input: input ?? null }),
  };
  return { role: 'assistant', content: '', tool_calls: [call] };
}

/** A call that its server ran has its result in the same item. */
function callWithResult(fields: Fields, result: string): HistoryMessage[] {
  const itemId = typeof fields.id === 'string' ? fields.id : String(fields.name);
  // Providers limit the length of ids.
  const id = CONVERSATION_CALL.exec(itemId)?.[1] ?? itemId;
  return [calling(fields, id), { role: 'tool', content: result, tool_call_id: id }];
}

function codeRun(fields: Fields): HistoryMessage[] {
  const outputs = Array.isArray(fields.outputs) ? (fields.outputs as unknown[]) : [];
  const logs = outputs.flatMap((output) => (isObject(output) ? [outputText(output.logs)] : []));
  return callWithResult({ ...fields, action: { code: fields.code ?? '' } }, logs.join('\n'));
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
