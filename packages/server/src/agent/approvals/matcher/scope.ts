/**
 * What is known while a command line is walked: findings, variables, functions, files written.
 * Two rules keep it on the safe side. Findings are only ever added. And a variable keeps every value it
 * may have: an assignment replaces the old ones only where it certainly runs; elsewhere it adds one.
 */
import type { Family, NeverReason } from './families.ts';
import { ENV } from './marks.ts';
import type { Limits } from './source.ts';
import type { Command } from './syntax.ts';

/** Elements of an array, or one element for a plain variable. */
export type Value = string[];

/** What a command reads from its standard input, as marked text. */
export interface Input {
  text: string;
  via: 'pipe' | 'heredoc' | 'file' | 'process';
}

export interface ShellFunction {
  body: Command;
  called: boolean;
}

// More values than this come from generated lists; following each would be slow and adds nothing.
const MAX_VALUES = 512;
const MAX_VALUE_LENGTH = 1_000_000;

export class Scope {
  readonly keys = new Set<Family>();
  never: NeverReason | undefined;
  readonly limits: Limits;
  readonly functions = new Map<string, ShellFunction>();
  readonly aliases = new Map<string, string>();
  /** Content written by this command line, by resolved path. */
  readonly files = new Map<string, string>();
  /** Programs this command line copied or linked to another name, by resolved path. */
  readonly programs = new Map<string, string>();
  /** Symbolic links this command line made, by resolved path. */
  readonly links = new Map<string, string>();
  /** `$1` …; undefined when unknown, as in a function nobody calls here. */
  positional: string[] | undefined = [];
  /** The directory after a literal `cd`; undefined when unknown. */
  cwd: string | undefined;
  /** Above 0 while walking commands that may not run. */
  conditional = 0;
  /** Above 0 while walking text that is only a command in another shell's reading. */
  quiet = 0;
  /** Set while walking source for `sh`, which may be another shell than bash. */
  posix = false;
  /** Set while walking what `find -exec` or `xargs` runs, where any `rm` deletes many files. */
  bulkDelete: Family | undefined;
  depth = 0;
  /** Grows whenever a variable gains a new value. */
  version = 0;
  /** Which value each variable has in the walk under way, and how many values each used one has. */
  picks: Map<string, number> | undefined;
  readonly used = new Map<string, number>();
  readonly #variables = new Map<string, Value[]>();

  constructor(limits: Limits) {
    this.limits = limits;
  }

  report(family: Family): void {
    if (family === 'command hidden behind expansion' && this.quiet > 0) return;
    this.keys.add(family);
  }

  /** False when the budget is spent or the verdict cannot get worse: stop walking. */
  step(): boolean {
    if (this.never) return false;
    if (--this.limits.steps >= 0 && this.limits.characters >= 0) return true;
    this.report('command too complex to inspect');
    return false;
  }

  /** The value of `name` in this walk; undefined when this command line does not set it. */
  lookup(name: string): Value | undefined {
    const values = this.#variables.get(name);
    if (!values) return undefined;
    return values[this.choose(name, values.length)];
  }

  /** One of `count` alternatives, the same each time within one walk. */
  choose(name: string, count: number): number {
    if (count < 2) return 0;
    this.used.set(name, count);
    return Math.min(this.picks?.get(name) ?? 0, count - 1);
  }

  assign(name: string, value: Value, certain = this.conditional === 0): void {
    const length = value.reduce((sum, element) => sum + element.length, 0);
    this.limits.characters -= length;
    if (length > MAX_VALUE_LENGTH || this.limits.characters < 0) {
      this.report('command too complex to inspect');
      return;
    }
    const old = this.#variables.get(name);
    const values = certain ? [] : (old ?? [[ENV]]);
    if (values.some((known) => sameValue(known, value))) return;
    if (values.length >= MAX_VALUES) {
      this.report('command too complex to inspect');
      return;
    }
    if (!old?.some((known) => sameValue(known, value))) this.version++;
    this.#variables.set(name, [...values, value]);
  }

  /** All values a loop variable takes. */
  assignEach(name: string, values: Value[]): void {
    if (values.length === 0) return;
    const kept = values.slice(0, MAX_VALUES);
    if (values.length > MAX_VALUES) this.report('command too complex to inspect');
    const old = this.#variables.get(name);
    if (old && old.length === kept.length && kept.every((value, i) => sameValue(value, old[i]!))) return;
    this.version++;
    this.#variables.set(name, kept);
  }

  /** The characters that split an unquoted expansion: the usual ones and any that this line adds. */
  get separators(): string {
    const custom = this.#variables.get('IFS');
    return custom ? ` \t\n${custom.flat().join('')}` : ' \t\n';
  }
}

function sameValue(a: Value, b: Value): boolean {
  return a.length === b.length && a.every((element, i) => element === b[i]);
}
