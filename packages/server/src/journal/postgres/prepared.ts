/**
 * Statements as they are sent. The database parses and plans one with values once per connection and knows it by its name
 * from then on: most of ours are short and come again and again, so that planning them would cost more than carrying them
 * out. Their number is that of the statements in the source, so nothing has to be forgotten.
 */
import type pg from 'pg';
import { toParameters } from './parameters.ts';

const names = new Map<string, string>();

export function toQuery(text: string, values: readonly unknown[]): pg.QueryConfig {
  // Without values it may be several statements in one, which cannot be prepared.
  if (values.length === 0) return { text };
  let name = names.get(text);
  if (name === undefined) {
    name = `talaria_${names.size}`;
    names.set(text, name);
  }
  return { name, text, values: toParameters(values) };
}
