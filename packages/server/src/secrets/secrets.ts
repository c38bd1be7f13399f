/**
 * The values that this server knows to be secret, and how to keep them out of everything that is shown or stored.
 *
 * - `mask` is for text of tools, providers and programs: it masks known values, and whatever looks like a credential.
 *   It is better to mask an innocent word than to show a key.
 * - `maskKnown` is for text of people and models: it masks known values only. They write about credentials all the
 *   time, and text that merely looks like one must stay.
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

  /** `mask` inside JSON, which stays JSON. Models sometimes write invalid JSON; that is masked as text. */
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
