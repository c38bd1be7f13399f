/**
 * Masks the values that this server knows to be secret in text that arrives in pieces. Text that could be the beginning
 * of a secret is held back until more arrives, so the result does not depend on where the text is cut.
 *
 * Only known values: models write about credentials all the time, and text that merely looks like one must stay.
 */
export const MASK = '[redacted]';

/** Shorter values are words ("test", "none") that would mask half the text. */
const MIN_SECRET_CHARS = 6;

export class SecretFilter {
  readonly #secrets: readonly string[];
  readonly #firstChars: ReadonlySet<string>;
  #held = '';

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
      .filter((secret) => secret.length >= MIN_SECRET_CHARS)
      .sort((a, b) => b.length - a.length);
    this.#firstChars = new Set(this.#secrets.map((secret) => secret[0]!));
  }

  /** The part of the text so far that can be shown now. */
  push(text: string): string {
    return this.#take(this.#held + text, false);
  }

  /** The withheld text, when nothing follows. */
  end(): string {
    return this.#take(this.#held, true);
  }

  #take(text: string, isEnd: boolean): string {
    this.#held = '';
    let shown = '';
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      if (!this.#firstChars.has(text[at]!)) continue;
      const match = this.#matchAt(text, at, isEnd);
      if (match === undefined) continue;
      shown += text.slice(from, at);
      if (match === 'undecided') {
        this.#held = text.slice(at);
        return shown;
      }
      shown += MASK;
      from = at + match.length;
      at = from - 1;
    }
    return shown + text.slice(from);
  }

  /** The longest secret at this position; undecided while a longer one is still possible. */
  #matchAt(text: string, at: number, isEnd: boolean): string | 'undecided' | undefined {
    const rest = text.length - at;
    for (const secret of this.#secrets) {
      if (secret.length <= rest) {
        if (text.startsWith(secret, at)) return secret;
      } else if (!isEnd && secret.startsWith(text.slice(at))) {
        return 'undecided';
      }
    }
    return undefined;
  }
}
