import { expect, it } from 'vitest';
import { KINDS } from '../rules/kinds.ts';
import { REST } from '../rules/rest.ts';
import { SPECIAL } from '../rules/special.ts';
import { PROGRAMS, TABLES } from './index.ts';

const ROWS = PROGRAMS.names.map((name) => [name, PROGRAMS.get(name)!] as const);
const KNOWN = new Set([...Object.keys(KINDS), ...Object.keys(REST), 'sub', 'texts']);

it('every kind of argument that a row names exists', () => {
  const named = ROWS.flatMap(([name, { options, operands }]) => [
    ...[...options].flatMap(([option, { value }]) =>
      value === undefined ? [] : [`${name} ${option}: ${value}`],
    ),
    ...operands.map((kind) => `${name}: ${kind.replace('$', '')}`),
  ]);
  expect(named.filter((each) => !KNOWN.has(each.split(': ').at(-1)!))).toEqual([]);
});

it('every rule that a row names exists', () => {
  const rules = ROWS.flatMap(([name, { rule }]) => (rule === undefined ? [] : [{ name, rule }]));
  expect(rules.filter(({ rule }) => !(rule in SPECIAL))).toEqual([]);
});

it('every subcommand has its program', () => {
  const parents = PROGRAMS.names.flatMap((name) =>
    name.includes(' ') ? [name.slice(0, name.lastIndexOf(' '))] : [],
  );
  const lost = parents.filter((name) => !PROGRAMS.has(name) && !name.startsWith('python -m'));
  expect([...new Set(lost)]).toEqual([]);
  const without = [...new Set(parents)].filter(
    (name) => PROGRAMS.get(name)?.operands.includes('sub') === false,
  );
  expect(without.filter((name) => !name.startsWith('python'))).toEqual([]);
});

it('no program has two rows', () => {
  const names = Object.values(TABLES).flatMap((table) =>
    table.split('\n').flatMap((line) => {
      const [list = ''] = line.split(';');
      return list.trim() === '' ? [] : list.trim().split(/\s*,\s*/);
    }),
  );
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});
