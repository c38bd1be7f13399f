/** The lists of an owner's runs, page by page. */
import { setImmediate } from 'node:timers/promises';
import type { RunList } from '@talaria/protocol';
import { OwnerTurns } from '../basics/owner-turns.ts';
import type { Journal, RunFilter, RunPage } from '../journal/journal.ts';
import { type ShownWith, type StoredRun, toWireHead, toWireRun } from '../journal/run-state.ts';

/** More than anybody types, and few enough for each word to be looked for in every text. */
export const SEARCH_CHARS_MAX = 1000;
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
  readonly #searches = new OwnerTurns(1);

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

  /** Without a search it is one read. */
  async #read(filter: RunFilter): Promise<RunPage> {
    if (filter.words === undefined) return this.#journal.listRuns(filter);
    return this.#searches.run(filter.owner, 1, () => this.#search(filter));
  }

  /**
   * Takes several short reads and ends with what it has found by then. A read of an embedded store keeps the process busy, so
   * everything else has its turn between two of them.
   */
  async #search(filter: RunFilter): Promise<RunPage> {
    const runs: StoredRun[] = [];
    let next = filter.after;
    for (let reads = 0; reads < SEARCH_READS; reads++) {
      await setImmediate();
      const page = await this.#journal.listRuns({
        ...filter,
        limit: filter.limit - runs.length,
        after: next,
      });
      runs.push(...page.runs);
      next = page.next;
      if (next === undefined || runs.length >= filter.limit) break;
    }
    return { runs, next };
  }
}
