/**
 * `${NAME}` in a text of the configuration stands for a variable of the environment, so that a file that is kept
 * under version control needs no secret in it. `$${NAME}` is the text `${NAME}` itself.
 */

export interface Resolved {
  readonly text: string;
  /** The variables it refers to and their values; undefined for one that is not set. */
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
