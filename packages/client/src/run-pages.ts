/** A list of runs. A loop over it reads page after page; awaited, it is the first page. */
import type { Run, RunList, RunStatus } from '@talaria/protocol';

export interface RunFilter {
  status?: RunStatus | undefined;
  session_id?: string | undefined;
  /** Runs per page, from 1 to 200. */
  limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  after?: string | undefined;
}

export class RunPages implements AsyncIterable<Run>, PromiseLike<RunList> {
  readonly #filter: RunFilter;
  readonly #fetch: (filter: RunFilter) => Promise<RunList>;

  constructor(filter: RunFilter, fetch: (filter: RunFilter) => Promise<RunList>) {
    this.#filter = filter;
    this.#fetch = fetch;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Run, void, undefined> {
    let { after } = this.#filter;
    for (;;) {
      const page = await this.#fetch({ ...this.#filter, after });
      yield* page.data;
      if (!page.has_more || page.next_cursor === null) return;
      after = page.next_cursor;
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: to be awaited is what it is for
  then<A = RunList, B = never>(
    onPage?: ((page: RunList) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#fetch(this.#filter).then(onPage, onError);
  }
}
