/** Knows which methods each path takes: a known path with an unknown method gives 405 with `Allow`, not 404. */
import type { FastifyInstance } from 'fastify';

/** For a request that is too broken to have a path. */
export const ANY_METHOD = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

export class AllowedMethods {
  readonly #paths: { pattern: RegExp; methods: Set<string> }[] = [];
  readonly #literal = new Map<string, Set<string>>();

  /** Knows the paths that `install` registers. */
  record(app: FastifyInstance, install: () => void): void {
    const methods = new Map<string, Set<string>>();
    let recording = true;
    app.addHook('onRoute', ({ url, method }) => {
      if (!recording) return;
      const taken = methods.get(url) ?? new Set();
      for (const name of [method].flat()) taken.add(name.toUpperCase());
      methods.set(url, taken);
    });
    install();
    recording = false;
    for (const [url, taken] of methods) {
      this.#paths.push({ pattern: toPattern(url), methods: taken });
      if (!url.includes(':')) this.#literal.set(url, taken);
    }
  }

  /** In the form of the `Allow` header; undefined for an unknown path. */
  of(path: string): string | undefined {
    const literal = this.#literal.get(path);
    const found = literal
      ? [literal]
      : this.#paths.filter(({ pattern }) => pattern.test(path)).map(({ methods }) => methods);
    if (found.length === 0) return undefined;
    return [...new Set(found.flatMap((methods) => [...methods]))].join(', ');
  }

  /**
   * Whether the path has routes of its own but not this method; then it must not match as a parameter of another route.
   */
  refuse(method: string, path: string): boolean {
    return this.#literal.get(path)?.has(method) === false;
  }
}

function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll('.', '\\.')));
  return new RegExp(`^${parts.join('/')}$`);
}
