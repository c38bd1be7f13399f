/** The lists of an owner's runs, page by page. */
import type { RunList } from '@talaria/protocol';
import type { Journal, RunFilter, RunPage } from '../journal/journal.ts';
import { type ShownWith, toWireHead, toWireRun } from '../journal/run-state.ts';

/** How many reads a page of a search may take; each read covers a hundred runs. */
const SEARCH_READS = 10;
/**
 * A page of runs is built in memory, with outputs: it ends after this many characters, long before 200 long outputs.
 */
export const LIST_CHARS_MAX = 4_000_000;

export interface ListRuns extends Omit<RunFilter, 'owner' | 'maxChars'> {
  /** Without the answers. */
  headsOnly?: boolean | undefined;
}

export class RunLists {
  readonly #journal: Pick<Journal, 'listRuns'>;
  readonly #shownWith: ShownWith;

  constructor(journal: Pick<Journal, 'listRuns'>, shownWith: ShownWith) {
    this.#journal = journal;
    this.#shownWith = shownWith;
  }

  async page(owner: string, { headsOnly = false, ...filter }: ListRuns): Promise<RunList> {
    const { runs, next } = await this.#read({ ...filter, owner, maxChars: LIST_CHARS_MAX });
    const shownWith = this.#shownWith;
    return {
      object: 'list',
      data: runs.map((run) => (headsOnly ? toWireHead(run, shownWith) : toWireRun(run, shownWith))),
      has_more: next !== undefined,
      next_cursor: next ?? null,
    };
  }

  /** A search takes several short reads, so that nobody else waits for it, and ends with what it has found by then. */
  async #read(filter: RunFilter): Promise<RunPage> {
    let { runs, next } = await this.#journal.listRuns(filter);
    if (filter.words === undefined) return { runs, next };
    for (let reads = 1; next !== undefined && runs.length < filter.limit && reads < SEARCH_READS; reads++) {
      const more = await this.#journal.listRuns({
        ...filter,
        limit: filter.limit - runs.length,
        after: next,
      });
      runs = [...runs, ...more.runs];
      next = more.next;
    }
    return { runs, next };
  }
}
