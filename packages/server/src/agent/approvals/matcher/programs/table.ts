/**
 * The form of the tables of known programs, and its reader. One line is one program (or several alike):
 *
 *     names ; options ; operands ; effects
 *
 * names     `cp gcp`, or with a subcommand `git push`
 * options   `any`: every option that is not listed is harmless. Without it an unlisted option asks.
 *           `-abc` flags; `-o:write` and `--out:write` take a value of that kind; `--out?:write` only after `=`.
 *           `!name` after an option: it asks as that finding. `~` after it: with it the program changes nothing;
 *           `^`: with it the program writes to its operands.
 *           `single`: long options have one dash. `posix`: the first operand ends the options.
 *           `assign`: operands are `name=value`, listed as `of=:write`.
 * operands  kinds in their order, the last repeats; `kind$` is the last operand where there are several
 * effects   `!name` every call asks as that; `when:name:pattern` one with a word that matches; `stdin:name` one that
 *           reads a text from a pipe or a here-document; `disk`: a call that formats a disk never runs;
 *           `>remote`, `>decoded`, `>same`, `>setup`, `>text`, `>nothing` what it prints;
 *           `rule:name` a rule of its own (rules/special.ts)
 *
 * The kinds of values are in rules/kinds.ts, the names of findings below.
 */
import type { Family, NeverReason } from '../families.ts';
import { NEVER } from '../families.ts';
import type { Prints } from '../walk/output.ts';

export const FINDINGS = {
  recursive: 'recursive delete',
  format: 'format filesystem',
  dd: 'disk copy',
  drop: 'SQL DROP',
  config: 'overwrite system config',
  secret: 'credential or SSH path',
  killall: 'kill all processes',
  forcekill: 'force kill processes',
  service: 'stop/restart system service',
  forcepush: 'git force push (rewrites remote history)',
  hard: 'git reset --hard (destroys uncommitted changes)',
  clean: 'git clean with force (deletes untracked files)',
  branch: 'git branch force delete',
  docker: 'docker stop/kill/compose down',
  shared: 'delete of shared resources',
  sudo: 'sudo with stdin, askpass or shell flag',
  uninstall: 'package uninstall',
  remote: 'pipe remote content to shell',
  code: 'interpreter with inline code',
  program: 'program or code as an argument',
  again: 'text evaluated again',
  network: 'network connection by the shell',
  outside: 'write outside the workspace',
  unknown: 'unknown option or argument',
} satisfies Record<string, Family>;

export type FindingName = keyof typeof FINDINGS;

export interface Fate {
  finding?: Family;
  never?: NeverReason;
}

export interface Option extends Fate {
  /** Kind of the value; undefined for a flag. */
  value?: string;
  /** The value comes only after `=`. */
  optional?: boolean;
  /** With it the program changes nothing. */
  harmless?: boolean;
  /** With it the operands are written to. */
  inPlace?: boolean;
}

export interface Program {
  /** The findings that hold for every call, and the reason if no call may run. */
  fates: readonly Fate[];
  any: boolean;
  style: 'gnu' | 'single' | 'assign';
  /** The first operand ends the options. */
  posix: boolean;
  options: ReadonlyMap<string, Option>;
  operands: readonly string[];
  when: readonly { pattern: RegExp; fate: Fate }[];
  stdin: Fate | undefined;
  /** Whether a call that formats never runs if an argument is a disk. */
  disk: boolean;
  prints: Prints;
  rule: string | undefined;
  /** Whether an argument that cannot be read could do harm. */
  risky: boolean;
}

/** Kinds whose value is only read, whatever it is. */
const PLAIN_KINDS = new Set(['text', 'texts', 'read', 'url', 'any', 'num', 'data']);

/** The rows of all tables. A row is parsed when its program first occurs, so that a start does not parse thousands. */
export class ProgramTable {
  readonly #rows = new Map<string, string>();
  readonly #read = new Map<string, Program>();

  constructor(tables: readonly string[]) {
    for (const line of tables.flatMap((table) => table.split('\n'))) {
      const at = line.indexOf(';');
      if (at < 0 || line.startsWith('#')) continue;
      for (const name of line.slice(0, at).split(',')) this.#rows.set(name.trim(), line.slice(at + 1));
    }
  }

  get names(): string[] {
    return [...this.#rows.keys()];
  }

  has(name: string): boolean {
    return this.#rows.has(name);
  }

  get(name: string): Program | undefined {
    const row = this.#rows.get(name);
    if (row === undefined) return undefined;
    const known = this.#read.get(row) ?? readProgram(row);
    this.#read.set(row, known);
    return known;
  }
}

function readProgram(row: string): Program {
  const [listed = '', operands = '', effects = ''] = row.split(';').map((part) => part.trim());
  const options = new Map<string, Option>();
  let any = false;
  let posix = false;
  let style: Program['style'] = 'gnu';
  for (const token of listed.split(/\s+/)) {
    if (token === '') continue;
    if (token === 'any') any = true;
    else if (token === 'posix') posix = true;
    else if (token === 'single' || token === 'assign') style = token;
    else readOption(token, style, options);
  }
  const kinds = operands === '' ? ['text'] : operands.split(/\s+/);
  const effect = (start: string) =>
    effects.split(/\s+/).flatMap((e) => (e.startsWith(start) ? [e.slice(start.length)] : []));
  return {
    any,
    style,
    posix,
    options,
    operands: kinds,
    fates: effect('!').map(fateOf),
    when: effect('when:').map((rule) => {
      const [, name = '', pattern = ''] = /^([\w-]+):(.+)$/.exec(rule) ?? [];
      return { pattern: new RegExp(pattern), fate: fateOf(name) };
    }),
    stdin: effect('stdin:').map(fateOf)[0],
    disk: effect('disk').length > 0,
    prints: effect('>')[0] as Prints,
    rule: effect('rule:')[0],
    risky:
      !any ||
      /rule:|when:/.test(effects) ||
      [...options.values()].some(
        ({ value, finding, never }) => finding ?? never ?? (value !== undefined && !PLAIN_KINDS.has(value)),
      ) ||
      kinds.some((kind) => !PLAIN_KINDS.has(kind.replace('$', ''))),
  };
}

function readOption(token: string, style: Program['style'], options: Map<string, Option>): void {
  const [, written = '', optional, value, harmless, inPlace, finding] =
    /^([^:!~^?]+|-\?)(\?)?(?::([\w-]+))?(~)?(\^)?(?:!([\w-]+))?$/.exec(token) ?? [];
  if (written === '') throw new Error(`The option '${token}' is not in the form of the table`);
  const option: Option = {
    ...(value === undefined ? {} : { value }),
    ...(optional ? { optional: true } : {}),
    ...(harmless ? { harmless: true } : {}),
    ...(inPlace ? { inPlace: true } : {}),
    ...(finding === undefined ? {} : fateOf(finding)),
  };
  // `-abc` is three flags, except where one dash begins a long name.
  const cluster = style === 'gnu' && /^-[^-]{2,}$/.test(written);
  if (cluster && Object.keys(option).length > 0)
    throw new Error(`'${token}' needs options in the form 'single'`);
  for (const name of cluster ? [...written.slice(1)].map((c) => `-${c}`) : [written])
    options.set(name, option);
}

function fateOf(name: string): Fate {
  const never = name.startsWith('never-') ? NEVER[name.slice(6) as keyof typeof NEVER] : undefined;
  const finding = FINDINGS[name as FindingName] as Family | undefined;
  if (never === undefined && finding === undefined) throw new Error(`There is no finding '${name}'`);
  return { ...(never ? { never } : {}), ...(finding ? { finding } : {}) };
}
