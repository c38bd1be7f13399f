/** Which methods each path takes: a path that is known and a method that is not give 405 with `Allow`, and not 404. */
import type { FastifyInstance } from 'fastify';

/** For a request that is too strange to have a path. */
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

  /** As `Allow` lists them; undefined for a path that is not known. */
  of(path: string): string | undefined {
    const literal = this.#literal.get(path);
    const found = literal
      ? [literal]
      : this.#paths.filter(({ pattern }) => pattern.test(path)).map(({ methods }) => methods);
    if (found.length === 0) return undefined;
    return [...new Set(found.flatMap((methods) => [...methods]))].join(', ');
  }

  /** Whether a path is one of its own, without that method: then it is no parameter of a route that has it. */
  refuse(method: string, path: string): boolean {
    return this.#literal.get(path)?.has(method) === false;
  }
}

function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll('.', '\\.')));
  return new RegExp(`^${parts.join('/')}$`);
}
