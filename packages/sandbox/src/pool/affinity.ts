/**
 * Remembers where a trajectory worked last, so that it finds warm caches there. It is a preference, not a promise: the
 * entry that was released longest ago is forgotten first.
 */
const MAX_REMEMBERED = 10_000;

export class Affinity<T> {
  readonly #places = new Map<string, T>();

  of(trajectoryId: string): T | undefined {
    return this.#places.get(trajectoryId);
  }

  remember(trajectoryId: string, place: T): void {
    this.#places.delete(trajectoryId);
    this.#places.set(trajectoryId, place);
    if (this.#places.size <= MAX_REMEMBERED) return;
    const [oldest] = this.#places.keys();
    this.#places.delete(oldest as string);
  }

  forget(trajectoryId: string): void {
    this.#places.delete(trajectoryId);
  }

  forgetPlace(place: T): void {
    for (const [trajectoryId, each] of this.#places) if (each === place) this.#places.delete(trajectoryId);
  }
}
