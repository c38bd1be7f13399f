/**
 * What a statement is given. Postgres keeps every character in a text but U+0000, and refuses the whole statement for
 * one: it is kept as U+FFFD, the sign for what cannot be shown. JSON writes it as an escape and is not concerned.
 */
export function toParameters(values: readonly unknown[]): unknown[] {
  return values.map((value) => (Array.isArray(value) ? toArray(value) : toText(value)));
}

/** Most of what is written are columns of numbers, which need none of the care that the library takes of each element. */
function toArray(elements: readonly unknown[]): unknown {
  if (!elements.every((element) => element === null || typeof element === 'number'))
    return elements.map(toText);
  return `{${elements.map((element) => element ?? 'NULL').join()}}`;
}

function toText(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
}
