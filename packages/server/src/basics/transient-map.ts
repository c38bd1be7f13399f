/**
 * A map from strings, for entries that come and go as long as the server runs, such as the runs in work.
 *
 * A `Map` is a costly place for them. When its table is full of deleted entries, V8 makes another table, to which the old one keeps
 * a pointer. As soon as one of these tables has become old, minor collections of garbage keep every later one alive through
 * that chain, and with the table whatever was in it: here, that was the whole state of most runs, until the next major
 * collection. An object has no such chain.
 */
export class TransientMap<V> {
  readonly #entries: Record<string, V | undefined> = Object.create(null);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#entries[key];
  }

  set(key: string, value: V): void {
    if (!(key in this.#entries)) this.#size += 1;
    this.#entries[key] = value;
  }

  /** False if there was no such entry. */
  delete(key: string): boolean {
    if (!(key in this.#entries)) return false;
    delete this.#entries[key];
    this.#size -= 1;
    return true;
  }

  values(): V[] {
    return Object.values(this.#entries) as V[];
  }
}
