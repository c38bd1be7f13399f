/**
 * Decides whether a shell command may run, must be approved, or never runs. Pure: no I/O, no clock.
 *
 * - The world is closed. A command runs unasked only if every program in it is named literally and known, and each of
 *   its options and arguments has a form that its table (programs/) calls harmless. What has another form, evaluates
 *   text again or takes a program as an argument asks, with the reason.
 * - What programs and scripts of the workspace do is not looked at: that is the sandbox's matter.
 * - It never throws, and its work is bounded (budget.ts); what exceeds the bound asks.
 * - Findings are only ever added, so harmless company hides nothing.
 */
import type { CommandRules } from '../command-rules.ts';
import { Budget, MAX_COMMAND_CHARS, OutOfBudget } from './budget.ts';
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

/** Every key a verdict can carry, the most severe first; rules of the operator come before them. */
export const PATTERN_KEYS: readonly string[] = FAMILIES;

const RULE = 'rule: ';

/** Whether a key is that of a rule of the operator, which is the rule as it was written. */
export const isRuleKey = (key: string): boolean => key.startsWith(RULE);

/** Earlier commands of a shell that may have left something in it: a directory, a variable, a function. */
const LEAVES_SOMETHING =
  /[=(]|\b(?:cd|pushd|popd|alias|set|export|declare|typeset|readonly|read|mapfile|readarray|source|eval|exec|printf|unset|hash|enable|shopt|trap|getopts|let|local|function)\b|(?:^|[;&|\n])\s*\.\s/;

export interface ClassifyOptions {
  /** What ran before in the same shell, the oldest first. It explains the command and is not judged itself. */
  after?: readonly string[];
  rules?: CommandRules;
  budget?: Budget;
}

/** About as much as takes half of the work of a verdict: the last eighty commands or so. */
const REMEMBERED_CHARS = 4_000;

/** What of the past of a shell is looked at. Older functions are unknown, and ask; the rest of it is forgotten. */
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
      // A limit of the engine itself shall ask too, not end a run.
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
