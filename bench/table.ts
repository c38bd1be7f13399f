/** Prints the rows. */
import { type Aim, judge, type Missing, type Row } from './rows.ts';

const HEADINGS = ['what', 'ours', 'floor', 'ratio', 'aim', 'met'];
const NOTE_WIDTH = 108;

export function printTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => cellsOf(row));
  const widths = HEADINGS.map((heading, i) =>
    Math.max(heading.length, ...cells.map((line) => line[i]!.length)),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, i) => text.padEnd(widths[i]!))
      .join('  ')
      .trimEnd();
  return [line(HEADINGS), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
}

export function printNotes(rows: readonly Row[]): string {
  const notes = new Map<string, Set<string>>();
  for (const { what, note } of rows) {
    if (note !== undefined) notes.set(note, (notes.get(note) ?? new Set()).add(what));
  }
  return [...notes].map(([note, rowNames]) => wrap(`${[...rowNames].join('; ')}: ${note}`)).join('\n');
}

export function printMissing(missing: readonly Missing[]): string {
  return missing.map(({ what, missing: reason }) => wrap(`Not measured: ${what}: ${reason}`)).join('\n');
}

function cellsOf(row: Row): string[] {
  const { ours, floor, ratio, ratios, met } = judge(row);
  return [
    row.what,
    figure(ours, row.unit),
    floor === undefined ? '-' : `${figure(floor, row.unit)} (${row.floor?.name})`,
    ratio === undefined || ratios === undefined ? '-' : `${ratio.toFixed(2)} (${range(ratios)})`,
    row.aim === undefined ? '-' : describeAim(row.aim, row.unit),
    met === undefined ? '-' : met === 'no' ? 'NO' : met,
  ];
}

function range(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)}`;
}

function describeAim({ of, atLeast, atMost }: Aim, unit: string): string {
  const sign = atLeast === undefined ? '≤' : '≥';
  const bound = atLeast ?? atMost ?? 0;
  return `${sign} ${of === 'ratio' ? `${bound} × floor` : figure(bound, unit)}`;
}

function figure(value: number, unit: string): string {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return `${value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

function wrap(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last.length + word.length < NOTE_WIDTH)
      lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}
