/**
 * The values this server knows to be secret, and how they are kept out of what is shown or stored.
 *
 * - `mask` is for what tools, providers and programs say: known values, and whatever looks like a credential. Better to
 *   mask an innocent word than to show a key.
 * - `maskKnown` is for what people and models write: known values alone. They write about credentials all day, and text
 *   that merely looks like one must stay.
 */
import { maskCredentials, maskValue } from './credential-patterns.ts';
import { SecretFilter } from './secret-filter.ts';

export class Secrets {
  readonly #known: readonly string[];

  constructor(known: readonly string[]) {
    this.#known = known;
  }

  readonly mask = (text: string): string => maskCredentials(this.maskKnown(text));

  readonly maskKnown = (text: string): string => {
    const filter = this.filter();
    return filter.push(text) + filter.end();
  };

  /** `mask` inside JSON, which stays JSON. Models write JSON that is none; that is masked as text. */
  readonly maskJson = (json: string): string => {
    try {
      return JSON.stringify(maskValue(JSON.parse(json), this.mask));
    } catch {
      return this.mask(json);
    }
  };

  /** `maskKnown` for text that arrives in pieces. */
  filter(): SecretFilter {
    return new SecretFilter(this.#known);
  }
}
