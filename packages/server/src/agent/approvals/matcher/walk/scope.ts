/**
 * What is known while a command line is walked. Two rules keep it on the safe side: findings are only ever added, and
 * a variable keeps every value it may have (an assignment replaces the old ones only where it certainly runs).
 */

import type { Budget } from '../budget.ts';
import type { CommandRules } from '../command-rules.ts';
import type { Family, NeverReason } from '../families.ts';
import type { Command } from '../parse/syntax.ts';
import { NO_RULES } from '../rules/operator-rules.ts';
import { ENV, HIDDEN } from './marks.ts';

/** Elements of an array, or one element for a plain variable. */
export type Value = string[];

/** What a command reads from its standard input, as marked text. */
export interface Input {
  text: string;
  via: 'pipe' | 'heredoc' | 'file' | 'process';
}

// More values than this come from generated lists. Then a rule only needs to know that they vary.
const MAX_VALUES = 16;
/** Steps from one reference to the next; bash follows a few as well. */
const MAX_REFERENCES = 8;

const OPAQUE = new Set<Family>([
  'program or code as an argument',
  'interpreter with inline code',
  'unknown option or argument',
]);

export class Scope {
  readonly budget: Budget;
  readonly rules: CommandRules;
  readonly keys = new Set<Family>();
  /** How often code or a program was found in an argument. */
  opaque = 0;
  /** Rules of the operator that ask. */
  readonly askedRules = new Set<string>();
  never: NeverReason | undefined;
  /** The rule of the operator that denies the command. */
  denied: string | undefined;
  functions = new Map<string, Command>();
  aliases = new Map<string, string>();
  /** What this command line wrote, by resolved path: text, or a mark of where it came from. */
  readonly files = new Map<string, string>();
  /** Links to `/` or into `/etc` that this command line made, by the first part of their path. */
  readonly systemLinks = new Set<string>();
  /** `$0`, where a command line gives it. */
  zero: string | undefined;
  /** `$1` …; undefined when unknown. */
  positional: string[] | undefined = [];
  /** The directory after a literal `cd`; undefined when it is the one the command starts in, or unknown. */
  cwd: string | undefined;
  /** Above 0 while walking commands that may not run. */
  conditional = 0;
  /** Set while walking source for `sh`, which may be another shell than bash. */
  posix = false;
  /** Set while walking what `find -exec` or `xargs` runs, where any `rm` deletes many files. */
  bulkDelete: Family | undefined;
  depth = 0;
  /** Grows whenever a variable gains a new value. */
  version = 0;
  readonly #variables = new Map<string, Value[]>();
  /** Variables that are names of other variables. */
  readonly #references = new Map<string, string>();

  constructor(budget: Budget, rules: CommandRules = NO_RULES) {
    this.budget = budget;
    this.rules = rules;
  }

  report(family: Family): void {
    if (OPAQUE.has(family)) this.opaque++;
    this.keys.add(family);
  }

  /** Every value this command line may have given to `name`; undefined when it sets none. */
  lookup(name: string): readonly Value[] | undefined {
    return this.#variables.get(this.#meant(name));
  }

  /** `declare -n name=target`. */
  refer(name: string, target: string): void {
    this.#references.set(name, target);
    this.version++;
  }

  #meant(name: string): string {
    let meant = name;
    for (let steps = 0; steps < MAX_REFERENCES; steps++) meant = this.#references.get(meant) ?? meant;
    return meant;
  }

  assign(given: string, value: Value, certain = this.conditional === 0): void {
    const name = this.#meant(given);
    for (const element of value) this.budget.charge(element.length + 1);
    const old = this.#variables.get(name);
    const values = certain ? [] : (old ?? []);
    if (values.some((known) => sameValue(known, value))) return;
    if (!old?.some((known) => sameValue(known, value))) this.version++;
    this.#variables.set(name, values.length < MAX_VALUES ? [...values, value] : [[HIDDEN]]);
  }

  /** The values a loop variable takes. */
  assignEach(name: string, values: string[]): void {
    if (values.length === 0) return;
    const few = values.length <= MAX_VALUES;
    // A long list becomes one unknown value: HIDDEN if one of its values could be an option or a path.
    const kept = few
      ? [...new Set(values)]
      : [values.some((value) => /^[-/\uE001\uE005]/.test(value)) ? HIDDEN : ENV];
    const old = this.#variables.get(name);
    if (old && old.length === kept.length && kept.every((value, i) => sameValue([value], old[i]!))) return;
    this.version++;
    this.#variables.set(
      name,
      kept.map((value) => [value]),
    );
  }
}

function sameValue(a: Value, b: Value): boolean {
  return a.length === b.length && a.every((element, i) => element === b[i]);
}
