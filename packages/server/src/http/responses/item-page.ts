/** Reads which page of a list of items a request asks for, in OpenAI's terms. */
import { TalariaError } from '@talaria/protocol';
import type { ItemPage } from '../../responses/item-lists.ts';
import { single } from '../requests/query.ts';

const LIMIT_MAX = 100;
const LIMIT_DEFAULT = 20;

export function itemPage(query: unknown): ItemPage {
  const order = single(query, 'order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') {
    throw new TalariaError('invalid_request', { message: "'order' must be asc or desc", param: 'order' });
  }
  const given = single(query, 'limit');
  const limit = given === undefined ? LIMIT_DEFAULT : /^\d{1,4}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > LIMIT_MAX) {
    const message = `'limit' must be a whole number from 1 to ${LIMIT_MAX}`;
    throw new TalariaError('invalid_request', { message, param: 'limit' });
  }
  return { limit, order, after: single(query, 'after') };
}
