/** Writes the progress of a soak as tables, with a column per store. */
import { printMachine } from '../../../bench/machine.ts';
import { killsOf, type SoakState, type StoreTotals, sumOf } from '../../../test/soak/state.ts';
import { table } from '../marked-part.ts';
import type { SoakReport } from './report.ts';

const NAMES: Readonly<Record<string, string>> = {
  sqlite: 'SQLite, one server',
  postgres: 'Postgres, three servers',
  docker: 'SQLite, one server, tools in Docker',
};

/** For the document: also on which machine. */
export function soakReport(report: SoakReport): string {
  return `${soakSummary(report)} ${printMachine(report.machine)}.\n\n${soakTable(report)}`;
}

export function soakSummary(state: SoakState): string {
  const { seed, version, rounds, seconds, violations } = state;
  const numbers = [killsOf(state), rounds, Math.round(seconds / 60)].map((value) =>
    value.toLocaleString('en'),
  );
  const [kills, played, minutes] = numbers;
  return `Seed ${seed}, version ${version}: ${kills} kills in ${played} rounds and ${minutes} minutes, ${violations.length} violations.`;
}

export function soakTable({ stores }: Pick<SoakState, 'stores'>): string {
  const all = Object.entries(stores);
  const row = (name: string, value: (totals: StoreTotals) => number) => [
    name,
    ...all.map(([, totals]) => value(totals).toLocaleString('en')),
  ];
  const rowsOf = (pick: (totals: StoreTotals) => Record<string, number>, prefix = '') => {
    const names = [...new Set(all.flatMap(([, totals]) => Object.keys(pick(totals))))].sort();
    return names.map((name) => row(prefix + name, (totals) => pick(totals)[name] ?? 0));
  };
  return table(
    ['', ...all.map(([store]) => NAMES[store] ?? store)],
    [
      row('rounds', ({ rounds }) => rounds),
      row('**kills**', ({ kills }) => sumOf(kills)),
      ...rowsOf(({ kills }) => kills),
      row('pauses', ({ pauses }) => pauses),
      row('**runs that clients followed to their end**', ({ ends }) => sumOf(ends)),
      ...rowsOf(({ ends }) => ends),
      row('tool calls in them', ({ calls }) => calls),
      ...rowsOf(({ work }) => work, 'pieces of work: '),
    ],
  );
}
