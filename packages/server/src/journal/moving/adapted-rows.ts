/**
 * How rows change on their way. Leases end: nobody works on either store, so runs and messages can be claimed at once.
 * Epochs stay, so that a worker that comes back too late is refused. If the target cannot store zero characters, they
 * become U+FFFD, in every column alike, so that references still match.
 */
import type { MovedTable, Row } from './store-ends.ts';

const ZERO_CHARACTERS = /\0/g;
const REPLACEMENT = '\uFFFD';

export class Adaptation {
  /** How many texts had zero characters. */
  replacedTexts = 0;
  readonly #withoutLease: (row: Row) => Row;
  readonly #texts: readonly boolean[];
  readonly #takesZeroCharacters: boolean;

  constructor(table: MovedTable, { takesZeroCharacters }: { takesZeroCharacters: boolean }) {
    this.#withoutLease = leaseEnder(table);
    this.#texts = table.columns.map(({ kind }) => kind === 'text');
    this.#takesZeroCharacters = takesZeroCharacters;
  }

  apply(row: Row): Row {
    const adapted = this.#withoutLease(row);
    if (this.#takesZeroCharacters) return adapted;
    return adapted.map((value, place) => {
      if (value === null || !this.#texts[place] || !value.includes('\0')) return value;
      this.replacedTexts += 1;
      return value.replace(ZERO_CHARACTERS, REPLACEMENT);
    });
  }
}

function leaseEnder({ name, columns }: MovedTable): (row: Row) => Row {
  const place = (column: string): number => columns.findIndex((other) => other.name === column);
  if (name === 'runs') {
    const cleared = [place('lease_owner'), place('lease_until')];
    return (row) => row.map((value, at) => (cleared.includes(at) ? null : value));
  }
  if (name === 'webhook_messages') {
    const [leased, dueAt, createdAt] = [place('leased'), place('due_at'), place('created_at')];
    return (row) => (row[leased] === 'true' ? row.with(leased, 'false').with(dueAt, row[createdAt]!) : row);
  }
  return (row) => row;
}
