/**
 * Decides whether a tool call may run, has to be approved by a person first, or never runs. Pure.
 *
 * The order of precedence: a rule of the operator that denies, what never runs, a rule that asks, a rule that allows,
 * what the matcher finds. Without isolation every command asks, unless that is switched off.
 */
import type { PreparedCall } from '../tools/tool.ts';
import { Budget } from './matcher/budget.ts';
import { classifyCommand, isRuleKey, PATTERN_KEYS, type Verdict } from './matcher/classify.ts';
import { DANGERS } from './matcher/families.ts';
import type { OperatorRules } from './matcher/rules/operator-rules.ts';

export type { Verdict };

export type Gate = (call: Pick<PreparedCall, 'command' | 'judged' | 'question'>) => Verdict;

/** Asked for every command where nothing keeps it from the host. */
const UNISOLATED_KEY = 'command outside a sandbox';

export interface GatePolicy {
  /** Whether the backend keeps commands from the host. */
  isolated: boolean;
  /** Whether gated commands ask although they run isolated. Rules of the operator ask in any case. */
  whenIsolated: 'ask' | 'skip';
  /** Whether every command asks where it does not run isolated. */
  whenUnisolated: 'ask' | 'skip';
  rules?: OperatorRules;
}

export function createGate(policy: GatePolicy): Gate {
  const skips = policy.isolated && policy.whenIsolated === 'skip';
  const always = !policy.isolated && policy.whenUnisolated === 'ask';
  return ({ command, judged, question }) => {
    if (question !== undefined) return { kind: 'ask', keys: [question.key] };
    if (command === undefined) return { kind: 'allow' };
    const verdict = judge([{ text: command }, ...(judged ?? [])], policy.rules);
    if (verdict.kind === 'never') return verdict;
    const found = verdict.kind === 'ask' ? verdict.keys : [];
    return asking([...(skips ? found.filter(isRuleKey) : found), ...(always ? [UNISOLATED_KEY] : [])]);
  };
}

/** The most severe of all readings: one may add findings, none removes any. */
function judge(readings: NonNullable<PreparedCall['judged']>, rules: OperatorRules | undefined): Verdict {
  const budget = new Budget();
  const found = new Set<string>();
  for (const { text, after = [], input = false } of readings) {
    const verdict = classifyCommand(text, { after, budget, ...(rules ? { rules } : {}) });
    if (verdict.kind === 'never') return verdict;
    // Input for a program that is no shell is no command; that it could be a dangerous one is reason enough to ask.
    const counts = (key: string) => !input || isRuleKey(key) || (DANGERS as readonly string[]).includes(key);
    if (verdict.kind === 'ask') for (const key of verdict.keys) if (counts(key)) found.add(key);
  }
  return asking([...[...found].filter(isRuleKey), ...PATTERN_KEYS.filter((key) => found.has(key))]);
}

function asking([first, ...rest]: string[]): Verdict {
  return first === undefined ? { kind: 'allow' } : { kind: 'ask', keys: [first, ...rest] };
}
