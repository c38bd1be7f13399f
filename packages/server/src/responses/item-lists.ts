/** Lists of items in OpenAI's form: a page begins after an item's id, and the newest come first by default. */
import { type ResponseItemList, TalariaError } from '@talaria/protocol';

export interface Item {
  id: string;
  type: string;
  [field: string]: unknown;
}

export interface ItemPage {
  limit: number;
  order: 'asc' | 'desc';
  after: string | undefined;
}

/** `items` in conversation order. */
export function listItems(items: readonly Item[], { limit, order, after }: ItemPage): ResponseItemList {
  const ordered = order === 'asc' ? items : items.toReversed();
  const begin = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && begin === 0) {
    const message = `'after' must be the id of an item in the list; there is no '${after}'`;
    throw new TalariaError('invalid_cursor', { message, param: 'after' });
  }
  const data = ordered.slice(begin, begin + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: begin + limit < ordered.length,
  };
}
