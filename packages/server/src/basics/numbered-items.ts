/**
 * Items that come and go, each with a number, which is given again after the item is removed. It is an array for the reason
 * that `TransientMap` tells.
 */
export class NumberedItems<T> {
  readonly #items: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  add(item: T): number {
    const number = this.#free.pop() ?? this.#items.length;
    this.#items[number] = item;
    return number;
  }

  /** Undefined if no item has this number. */
  remove(number: number): T | undefined {
    const item = this.#items[number];
    if (item === undefined) return undefined;
    this.#items[number] = undefined;
    this.#free.push(number);
    return item;
  }

  removeAll(): T[] {
    const items = [...this];
    this.#items.length = 0;
    this.#free.length = 0;
    return items;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
