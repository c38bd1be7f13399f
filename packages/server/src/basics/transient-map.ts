/**
 * A map from strings, for entries that come and go as long as the server runs, such as the runs in work.
 *
 * A `Map` is a costly place for them. Measured with V8 13: once a full collection of garbage has moved its table to the old
 * generation, minor collections keep entries that were deleted long ago, and whatever they refer to, until the next full one. Here
 * that was the state of most runs. Probably each table that the map replaces still points to the next. An object does not do this.
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
