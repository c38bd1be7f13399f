/**
 * Statements as they are sent. The database parses and plans a statement with parameters once per connection, and knows
 * it by its name afterwards. Most of ours are short and repeated, so planning them would cost more than running them.
 * Their number is that of the statements in the source, so none has to be dropped.
 */
import type pg from 'pg';
import { toParameters } from './parameters.ts';

const names = new Map<string, string>();

export function toQuery(text: string, values: readonly unknown[]): pg.QueryConfig {
  // Without parameters it may be several statements in one, which cannot be prepared.
  if (values.length === 0) return { text };
  let name = names.get(text);
  if (name === undefined) {
    name = `talaria_${names.size}`;
    names.set(text, name);
  }
  return { name, text, values: toParameters(values) };
}
