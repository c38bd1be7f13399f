/**
 * The items of a growing response, in order. Several may be open at once. Each gets the next `output_index` when it is
 * added, and keeps it. A dropped item is not part of the response any more, and its index is not used again.
 */
import type { ResponseEventPayload, ResponseEventType, ResponseItem } from '@talaria/protocol';

export type Emit = <T extends ResponseEventType>(type: T, payload: ResponseEventPayload<T>) => void;

export interface Slot {
  readonly outputIndex: number;
  /** The item in its present state. */
  current(): ResponseItem;
}

/** The id of an item: the digits of its response, so that it can be found by its id alone, and a number. */
export type ItemId = (prefix: string, n: number) => string;

export class OutputItems {
  readonly emit: Emit;
  readonly #slots: Slot[] = [];
  #nextIndex = 0;

  constructor(emit: Emit) {
    this.emit = emit;
  }

  get list(): ResponseItem[] {
    return this.#slots.map((slot) => slot.current());
  }

  /** `before`: an item that comes after this one, though it was added first. */
  add(added: ResponseItem, current = () => added, before?: Slot): Slot {
    const slot = { outputIndex: this.#nextIndex++, current };
    const at = before === undefined ? -1 : this.#slots.indexOf(before);
    this.#slots.splice(at === -1 ? this.#slots.length : at, 0, slot);
    this.emit('response.output_item.added', { output_index: slot.outputIndex, item: added });
    return slot;
  }

  done(slot: Slot, item: ResponseItem): void {
    const at = this.#slots.indexOf(slot);
    this.#slots[at] = { outputIndex: slot.outputIndex, current: () => item };
    this.emit('response.output_item.done', { output_index: slot.outputIndex, item });
  }

  /** Removes an item by its id. */
  drop(id: string): void {
    const at = this.#slots.findIndex((slot) => slot.current().id === id);
    if (at !== -1) this.#slots.splice(at, 1);
  }
}
