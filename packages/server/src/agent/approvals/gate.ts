/**
 * Decides whether a tool call may run, has to be approved by a person first, or never runs. Pure.
 *
 * Order of precedence: an operator's rule that denies, commands that never run, a rule that asks, a rule that allows, the
 * findings of the matcher. Without isolation every command asks, unless the operator switched that off.
 */

import type { PreparedCall } from '../tools/tool.ts';
import { Budget } from './matcher/budget.ts';
import { classifyCommand, isRuleKey, PATTERN_KEYS, type Verdict } from './matcher/classify.ts';
import type { CommandRules } from './matcher/command-rules.ts';
import { DANGERS } from './matcher/families.ts';

export type { Verdict };

export type Gate = (call: Pick<PreparedCall, 'command' | 'judged' | 'question'>) => Verdict;

/** The key under which every command asks if no sandbox separates it from the host. */
const UNISOLATED_KEY = 'command outside a sandbox';

export interface GatePolicy {
  /** Whether the backend separates commands from the host. */
  isolated: boolean;
  /** Whether the commands work in a directory of the host: then the sandbox does not make a gated one harmless. */
  mounted?: boolean;
  /** Whether gated commands ask even if they run isolated. The operator's rules always ask. */
  whenIsolated: 'ask' | 'skip';
  /** Whether every command asks if it does not run isolated. */
  whenUnisolated: 'ask' | 'skip';
  rules?: CommandRules;
}

export function createGate(policy: GatePolicy): Gate {
  const skips = policy.isolated && !policy.mounted && policy.whenIsolated === 'skip';
  const always = !policy.isolated && policy.whenUnisolated === 'ask';
  return ({ command, judged, question }) => {
    if (question !== undefined) return { kind: 'ask', keys: [question.key] };
    if (command === undefined) return { kind: 'allow' };
    const readings = judged ?? [];
    // Earlier commands of the shell may explain this one. Where a reading has them, the command alone is only checked for
    // dangers.
    const explained = readings.some(({ text, dangersOnly }) => text === command && !dangersOnly);
    const verdict = judge([{ text: command, dangersOnly: explained }, ...readings], policy.rules);
    if (verdict.kind === 'never') return verdict;
    const found = verdict.kind === 'ask' ? verdict.keys : [];
    return asking([...(skips ? found.filter(isRuleKey) : found), ...(always ? [UNISOLATED_KEY] : [])]);
  };
}

/** The most severe verdict of all readings. A reading can add findings and cannot remove any. */
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
