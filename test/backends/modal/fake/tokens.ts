/** Tokens as the SDK reads them: it looks at nothing but when they expire. */
export class Tokens {
  /** Of those that are given out from now on. */
  lifetimeS = 3600;
  #valid = new Set<string>();
  #count = 0;

  issue(): string {
    const exp = Math.floor(Date.now() / 1000) + this.lifetimeS;
    const parts = [{ alg: 'none' }, { exp, number: this.#count++ }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const token = `${parts.join('.')}.signature`;
    this.#valid.add(token);
    return token;
  }

  /** Those that were given out are refused from now on. */
  expireAll(): void {
    this.#valid.clear();
  }

  accepts(token: string): boolean {
    return this.#valid.has(token);
  }
}
