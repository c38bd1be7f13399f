/**
 * Decides whether a tool call may run, has to be approved by a person first, or never runs. Pure.
 *
 * The order of precedence: a rule of the operator that denies, what never runs, a rule that asks, a rule that allows,
 * what the matcher finds. Without isolation every command asks, unless that is switched off.
 */

import type { PreparedCall } from '../tools/tool.ts';
import type { CommandRules } from './command-rules.ts';
import { Budget } from './matcher/budget.ts';
import { classifyCommand, isRuleKey, PATTERN_KEYS, type Verdict } from './matcher/classify.ts';
import { DANGERS } from './matcher/families.ts';

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
  rules?: CommandRules;
}

export function createGate(policy: GatePolicy): Gate {
  const skips = policy.isolated && policy.whenIsolated === 'skip';
  const always = !policy.isolated && policy.whenUnisolated === 'ask';
  return ({ command, judged, question }) => {
    if (question !== undefined) return { kind: 'ask', keys: [question.key] };
    if (command === undefined) return { kind: 'allow' };
    const readings = judged ?? [];
    // In a shell with a past the bare command lacks what that past explains.
    const explained = readings.some(({ text, dangersOnly }) => text === command && !dangersOnly);
    const verdict = judge([{ text: command, dangersOnly: explained }, ...readings], policy.rules);
    if (verdict.kind === 'never') return verdict;
    const found = verdict.kind === 'ask' ? verdict.keys : [];
    return asking([...(skips ? found.filter(isRuleKey) : found), ...(always ? [UNISOLATED_KEY] : [])]);
  };
}

/** The most severe of all readings: one may add findings, none removes any. */
function judge(readings: NonNullable<PreparedCall['judged']>, rules: CommandRules | undefined): Verdict {
  const budget = new Budget();
  const found = new Set<string>();
  for (const { text, after = [], dangersOnly = false } of readings) {
    const verdict = classifyCommand(text, { after, budget, ...(rules ? { rules } : {}) });
    if (verdict.kind === 'never') return verdict;
    const counts = (key: string) =>
      !dangersOnly || isRuleKey(key) || (DANGERS as readonly string[]).includes(key);
    if (verdict.kind === 'ask') for (const key of verdict.keys) if (counts(key)) found.add(key);
  }
  return asking([...[...found].filter(isRuleKey), ...PATTERN_KEYS.filter((key) => found.has(key))]);
}

function asking([first, ...rest]: string[]): Verdict {
  return first === undefined ? { kind: 'allow' } : { kind: 'ask', keys: [first, ...rest] };
}
