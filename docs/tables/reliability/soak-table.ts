/** What a soak has reached, as a table: a column per store. */
import type { SoakState, StoreTotals } from '../../../test/soak/state.ts';
import { killsOf, sumOf } from '../../../test/soak/state.ts';
import { table } from '../marked-part.ts';

const NAMES: Readonly<Record<string, string>> = {
  sqlite: 'SQLite, one server',
  postgres: 'Postgres, three servers',
  docker: 'SQLite, one server, tools in Docker',
};

export function soakTable(state: SoakState): string {
  const stores = Object.entries(state.stores);
  const row = (name: string, value: (totals: StoreTotals) => number) => [
    name,
    ...stores.map(([, totals]) => value(totals).toLocaleString('en')),
  ];
  const rowsOf = (pick: (totals: StoreTotals) => Record<string, number>) => {
    const names = [...new Set(stores.flatMap(([, totals]) => Object.keys(pick(totals))))].sort();
    return names.map((name) => row(name, (totals) => pick(totals)[name] ?? 0));
  };
  return (
    table(
      ['', ...stores.map(([store]) => NAMES[store] ?? store)],
      [
        row('**kills**', ({ kills }) => sumOf(kills)),
        ...rowsOf(({ kills }) => kills),
        row('pauses', ({ pauses }) => pauses),
        row('**runs that clients followed**', ({ ends }) => sumOf(ends)),
        ...rowsOf(({ ends }) => ends),
        row('tool calls of these', ({ calls }) => calls),
        ...rowsOf(({ work }) => work).map(([name, ...cells]) => [`work: ${name}`, ...cells]),
      ],
    ) +
    `\nSeed ${state.seed}, version ${state.version}: ${killsOf(state).toLocaleString('en')} kills in ${state.rounds} rounds and ${Math.round(state.seconds / 60).toLocaleString('en')} minutes, ${state.violations.length} violations.\n`
  );
}
