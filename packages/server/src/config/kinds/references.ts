/**
 * `${NAME}` in a text of the configuration stands for an environment variable, so that a file under version control
 * needs no secrets. `$${NAME}` is the literal text `${NAME}`.
 */

export interface Resolved {
  readonly text: string;
  /** The referenced variables and their values; undefined for one that is not set. */
  readonly used: ReadonlyMap<string, string | undefined>;
}

const REFERENCE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** An empty variable counts as unset, as everywhere in the configuration. */
export function resolveReferences(text: string, env: Readonly<Record<string, string | undefined>>): Resolved {
  const used = new Map<string, string | undefined>();
  const resolved = text.replace(REFERENCE, (whole, escaped: string, name: string) => {
    if (escaped !== '') return whole.slice(1);
    const value = env[name] || undefined;
    used.set(name, value);
    return value ?? '';
  });
  return { text: resolved, used };
}
