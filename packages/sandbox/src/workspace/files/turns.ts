/** Actions under one key happen one after the other, in the order of their calls. Actions under different keys do not wait. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(key: string, action: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(action, action);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }

  /** Resolves when the turns that exist now are over, however they end. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}

/**
 * By the directory of a workspace: file tools that change it take turns, so two edits of one file in the same step both happen.
 * Commands do not take part; before an edit writes, it checks again whether a command changed the file.
 */
export const fileTurns = new Turns();
