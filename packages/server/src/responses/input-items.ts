/** What responses were asked with: kept as it came, shown in OpenAI's shapes, and found again by the ids of items. */
import { referenceIn, TalariaError } from '@talaria/protocol';
import type { Item } from './item-lists.ts';
import type { Masking } from './masking.ts';
import { inputItemId, responseOfItem } from './response-ids.ts';
import type { ResponseRuns } from './response-runs.ts';

/** What OpenAI calls items of these types. */
const PREFIXES: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  mcp_call: 'mcp',
};

/** The items of an input, with what stored ones are referred to instead of their ids. */
export async function resolveInput(responses: ResponseRuns, owner: string, input: unknown): Promise<unknown> {
  if (!Array.isArray(input)) return input;
  const items: unknown[] = [];
  for (const [i, item] of input.entries()) {
    const id = referenceIn(item);
    items.push(id === undefined ? item : await findItem(responses, owner, id, `input[${i}]`));
  }
  return items;
}

/** As they are shown, each with an id. */
export function toInputItems(
  responseId: string,
  input: string | null,
  masking: Pick<Masking, 'text'>,
): Item[] {
  if (input === null) return [];
  const items = JSON.parse(masking.text(input)) as unknown[];
  return items.map((item, i) => toItem(item, (type) => inputItemId(responseId, PREFIXES[type] ?? 'item', i)));
}

/** An item as it was sent, with an id unless it has one, and with content in parts. */
export function toItem(item: unknown, idOf: (type: string) => string): Item {
  const fields = (typeof item === 'object' && item !== null ? item : { content: item }) as Partial<Item>;
  const { role = 'user', content } = fields;
  const type = fields.type ?? 'message';
  const id = typeof fields.id === 'string' ? fields.id : idOf(type);
  if (type !== 'message') return { ...fields, id, type };
  const textType = role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof content === 'string' ? [{ type: textType, text: content }] : content;
  return { ...fields, id, type, role, status: 'completed', content: parts };
}

async function findItem(responses: ResponseRuns, owner: string, id: string, param: string): Promise<unknown> {
  const responseId = responseOfItem(id);
  const found = responseId && (await responses.findItem(owner, responseId, id));
  if (found !== undefined) return found;
  const message = `Item with id '${id}' not found; it is not stored, or is no longer`;
  throw new TalariaError('invalid_request', { message, param });
}
