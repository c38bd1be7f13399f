/** The events of PROTOCOL.md with their fields, from the schemas. */
import { EVENT_PAYLOADS } from '@talaria/protocol/schemas';
import { table } from './marked-part.ts';

interface ObjectSchema {
  readonly properties: Record<string, unknown>;
  readonly required?: readonly string[] | undefined;
}

export function eventTable(): string {
  const rows = Object.entries(EVENT_PAYLOADS).map(([name, schema]) => [`\`${name}\``, fieldsOf(schema)]);
  return table(['event', 'fields'], rows);
}

function fieldsOf({ properties, required = [] }: ObjectSchema): string {
  return Object.keys(properties)
    .map((field) => `\`${field}${required.includes(field) ? '' : '?'}\``)
    .join(', ');
}
