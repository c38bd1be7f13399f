/** A listing. A loop reads page after page; `await` gives the first page. */
import { ConnectionError } from './errors.ts';
import { type Fields, isFields } from './transport.ts';

/** The fields that the pages of all listings share. */
interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface PageQuery {
  /** Entries per page, from 1 to 200. */
  limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  after?: string | undefined;
}

export class Pages<Item, List extends Page<Item>> implements AsyncIterable<Item>, PromiseLike<List> {
  readonly #query: PageQuery;
  readonly #fetch: (query: PageQuery) => Promise<List>;

  constructor(query: PageQuery, fetch: (query: PageQuery) => Promise<List>) {
    this.#query = query;
    this.#fetch = fetch;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let { after } = this.#query;
    for (;;) {
      const page = await this.#fetch({ ...this.#query, after });
      yield* page.data;
      if (!page.has_more || page.next_cursor === null) return;
      if (page.next_cursor === after)
        throw new ConnectionError('The server sends the same page again and again');
      after = page.next_cursor;
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: to be awaited is what it is for
  then<A = List, B = never>(
    onPage?: ((page: List) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#fetch(this.#query).then(onPage, onError);
  }
}

/** A page that has more has a cursor to the next one. */
export function isPage(answer: Fields): answer is Fields & Page<Fields> {
  const { has_more, next_cursor } = answer;
  return isList(answer) && (has_more !== true || typeof next_cursor === 'string');
}

export function isList({ data }: Fields): boolean {
  return Array.isArray(data) && data.every(isFields);
}
