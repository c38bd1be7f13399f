/** The runs of a key as they change, as clients see them. */
import type { Run } from '@talaria/protocol';
import { type ChangeBatch, ChangeFeed, type ChangeSubscriber } from '../journal/change-feed.ts';
import type { ChangePlace, Changes } from '../journal/changes.ts';
import { type ShownWith, toWireHead } from '../journal/run-state.ts';

export interface FeedItem {
  /** A reader that has this item, and the items before it, continues with this cursor. */
  cursor: string;
  run: Run;
}

export class RunFeed {
  readonly #changes: Changes;
  readonly #feed: ChangeFeed;
  readonly #shownWith: ShownWith;

  constructor(changes: Changes, shownWith: ShownWith) {
    this.#changes = changes;
    this.#feed = new ChangeFeed(changes);
    this.#shownWith = shownWith;
  }

  /** Readers that are attached. */
  get size(): number {
    return this.#feed.size;
  }

  /** Where a reader with this cursor continues; without one it begins now. Rejects with `invalid_cursor`. */
  placeOf(owner: string, cursor: string | undefined): Promise<ChangePlace> {
    return cursor === undefined ? this.#changes.now() : this.#changes.open(owner, cursor);
  }

  cursorOf(owner: string, place: ChangePlace): string {
    return this.#changes.seal(owner, place);
  }

  subscribe(owner: string, place: ChangePlace, subscriber: ChangeSubscriber): () => void {
    return this.#feed.attach(owner, place, subscriber);
  }

  items(owner: string, batch: ChangeBatch): FeedItem[] {
    return batch.map(({ run, place }) => ({
      cursor: this.#changes.seal(owner, place),
      run: toWireHead(run, this.#shownWith),
    }));
  }
}
