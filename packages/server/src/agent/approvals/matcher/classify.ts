/**
 * Decides whether a shell command may run, must be approved, or never runs. Pure: no I/O, no clock.
 *
 * - Unknown means ask. A command runs without a question only if every program in it is known and named literally, and
 *   its table (programs/) lists the form of each option and argument as harmless. A command with any other form asks, and
 *   so does one that evaluates text again or takes a program as an argument. The verdict has the reason.
 * - It does not look into programs and scripts of the workspace: the sandbox limits what they can do.
 * - It never throws, and its work is bounded (budget.ts). A command that exceeds the bound asks.
 * - Findings are only added, so harmless commands beside a dangerous one hide nothing.
 */

import { Budget, MAX_COMMAND_CHARS, OutOfBudget } from './budget.ts';
import type { CommandRules } from './command-rules.ts';
import { FAMILIES } from './families.ts';
import { readings } from './readings.ts';
import { NO_RULES } from './rules/operator-rules.ts';
import { Scope } from './walk/scope.ts';
import { Shell } from './walk/shell.ts';

export type Verdict =
  | { kind: 'allow' }
  /** every reason, the most severe first, without duplicates */
  | { kind: 'ask'; keys: [string, ...string[]] }
  /** never runs and never asks */
  | { kind: 'never'; reason: string };

/** Every key that a verdict can have, the most severe first. The operator's rules come before them. */
export const PATTERN_KEYS: readonly string[] = FAMILIES;

const RULE = 'rule: ';

/** Whether a key is an operator's rule: the text of the rule as the operator wrote it. */
export const isRuleKey = (key: string): boolean => key.startsWith(RULE);

/** Earlier commands of a shell that may have left something in it: a directory, a variable, a function. */
const LEAVES_SOMETHING =
  /[=(]|\b(?:cd|pushd|popd|alias|set|export|declare|typeset|readonly|read|mapfile|readarray|source|eval|exec|printf|unset|hash|enable|shopt|trap|getopts|let|local|function)\b|(?:^|[;&|\n])\s*\.\s/;

export interface ClassifyOptions {
  /** Earlier commands of the same shell, the oldest first. They explain the command and are not judged. */
  after?: readonly string[];
  rules?: CommandRules;
  budget?: Budget;
}

/** Reading this much takes about half of the budget: roughly the last eighty commands. */
const REMEMBERED_CHARS = 4_000;

/** Which earlier commands are read. Calls of functions from older ones ask; the rest of those is ignored. */
function remembered(after: readonly string[]): string[] {
  const kept: string[] = [];
  let chars = 0;
  for (const earlier of after.toReversed()) {
    if (!LEAVES_SOMETHING.test(earlier)) continue;
    chars += earlier.length;
    if (chars > REMEMBERED_CHARS && kept.length > 0) break;
    kept.unshift(earlier);
  }
  return kept;
}

export function classifyCommand(command: string, options: ClassifyOptions = {}): Verdict {
  const { after = [], rules = NO_RULES, budget = new Budget() } = options;
  const found = new Set<string>();
  const asked = new Set<string>();
  const texts = command.length > MAX_COMMAND_CHARS ? [command] : readings(command);
  for (const text of texts) {
    const scope = new Scope(budget, rules);
    try {
      // Folding look-alikes can make a text longer.
      if (text.length > MAX_COMMAND_CHARS) throw new OutOfBudget();
      const shell = new Shell(scope);
      for (const earlier of remembered(after)) shell.recall(earlier);
      shell.walk(text);
    } catch (error) {
      // If the JavaScript engine hits a limit of its own, the command asks; the run continues.
      if (!(error instanceof OutOfBudget) && !(error instanceof RangeError)) throw error;
      scope.report('command too complex to inspect');
    }
    if (scope.denied !== undefined) return { kind: 'never', reason: `the rule '${scope.denied}' denies it` };
    if (scope.never) return { kind: 'never', reason: scope.never };
    for (const key of scope.keys) found.add(key);
    for (const rule of scope.askedRules) asked.add(RULE + rule);
  }
  const [first, ...rest] = [...asked, ...FAMILIES.filter((family) => found.has(family))];
  return first === undefined ? { kind: 'allow' } : { kind: 'ask', keys: [first, ...rest] };
}
