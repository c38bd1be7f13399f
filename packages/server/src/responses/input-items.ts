/** The inputs of responses: stored unchanged, shown in OpenAI's shapes, and found again by item ids. */
import { referenceIn, TalariaError } from '@talaria/protocol';
import type { Secrets } from '../secrets/secrets.ts';
import { conversationOfItem } from './conversation-items.ts';
import type { ConversationAccess } from './conversations.ts';
import type { Item } from './item-lists.ts';
import { inputItemId, responseOfItem } from './response-ids.ts';
import type { ResponseRuns } from './response-runs.ts';

/** OpenAI's id prefixes for these types. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['function_call_output', 'fco'],
  ['mcp_call', 'mcp'],
]);

/** As much as a body may have: references are no way around the limit. */
const REFERRED_CHARS_MAX = 10_000_000;

export interface Source extends Pick<ResponseRuns, 'itemsOf'> {
  conversations: Pick<ConversationAccess, 'storedItems'>;
}

interface Wanted {
  id: string;
  /** The position at which the input names it first. */
  param: string;
  times: number;
}

/**
 * The items of an input, with references to stored items replaced. Clients refer to everything in a chat, so each
 * response and each conversation is read once. The referenced items may be as long as what the client could have sent.
 */
export async function resolveInput(
  responses: Source,
  owner: string,
  input: unknown,
  { param = 'input', maxChars = REFERRED_CHARS_MAX } = {},
): Promise<unknown> {
  if (!Array.isArray(input)) return input;
  const wanted = new Map<string, Wanted>();
  for (const [i, item] of input.entries()) {
    const id = referenceIn(item);
    if (id === undefined) continue;
    const before = wanted.get(id);
    if (before === undefined) wanted.set(id, { id, param: `${param}[${i}]`, times: 1 });
    else before.times += 1;
  }
  const found = await findItems(responses, owner, [...wanted.values()], maxChars);
  return input.map((item: unknown) => {
    const id = referenceIn(item);
    return id === undefined ? item : found.get(id);
  });
}

/** The items as they are shown, each with an id. */
export function toInputItems(responseId: string, input: string | null, secrets: Secrets): Item[] {
  if (input === null) return [];
  const items = JSON.parse(secrets.maskKnown(input)) as unknown[];
  return items.map((item, i) =>
    toItem(item, (type) => inputItemId(responseId, PREFIXES.get(type) ?? 'item', i)),
  );
}

/** An item as it was sent, with an id unless it has one, and with its content as parts. */
function toItem(item: unknown, idOf: (type: string) => string): Item {
  const fields = (typeof item === 'object' && item !== null ? item : { content: item }) as Partial<Item>;
  const { role = 'user', content } = fields;
  const type = fields.type ?? 'message';
  const id = typeof fields.id === 'string' ? fields.id : idOf(type);
  if (type !== 'message') return { ...fields, id, type };
  const textType = role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof content === 'string' ? [{ type: textType, text: content }] : content;
  return { ...fields, id, type, role, status: 'completed', content: parts };
}

async function findItems(
  responses: Source,
  owner: string,
  wanted: readonly Wanted[],
  maxChars: number,
): Promise<Map<string, Item>> {
  const found = new Map<string, Item>();
  let chars = 0;
  const holderOf = ({ id }: Wanted) => responseOfItem(id) ?? conversationOfItem(id);
  for (const ofHolder of Map.groupBy(wanted, holderOf).values()) {
    const items = await itemsBeside(responses, owner, ofHolder[0]!.id);
    const byId = new Map(items.map((item) => [item.id, item]));
    for (const { id, param, times } of ofHolder) {
      const item = byId.get(id);
      if (item === undefined) throw itemNotFound(id, param);
      chars += JSON.stringify(item).length * times;
      if (chars > maxChars) throw tooLong(maxChars);
      found.set(id, item);
    }
  }
  return found;
}

/** All items of the response or the conversation that the id names. */
async function itemsBeside(responses: Source, owner: string, id: string): Promise<Item[]> {
  const responseId = responseOfItem(id);
  if (responseId !== undefined) return responses.itemsOf(owner, responseId);
  const conversationId = conversationOfItem(id);
  return conversationId === undefined ? [] : responses.conversations.storedItems(owner, conversationId);
}

function itemNotFound(id: string, param: string): TalariaError {
  const message = `Item with id '${id}' not found; it was never stored, or was deleted`;
  return new TalariaError('invalid_request', { message, param });
}

function tooLong(maxChars: number): TalariaError {
  const message = `The referenced items have more than ${maxChars} characters together`;
  return new TalariaError('body_too_large', { message });
}
