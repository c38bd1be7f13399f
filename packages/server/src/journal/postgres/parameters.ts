/**
 * The parameters of a statement. Postgres stores every character in a text except U+0000, and refuses the whole
 * statement for one. So it is stored as U+FFFD, the replacement character. JSON writes it as an escape and is not
 * affected.
 */
export function toParameters(values: readonly unknown[]): unknown[] {
  return values.map((value) => (Array.isArray(value) ? toArray(value) : toText(value)));
}

/** Most parameters are columns of numbers, which do not need the library's checks of each element. */
function toArray(elements: readonly unknown[]): unknown {
  if (!elements.every((element) => element === null || typeof element === 'number'))
    return elements.map(toText);
  return `{${elements.map((element) => element ?? 'NULL').join()}}`;
}

function toText(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
}
