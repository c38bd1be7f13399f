/** Compares rules of the operator (command-rules.ts) with a command that would run. */

import type { Budget } from '../budget.ts';
import { type CommandRule, type CommandRules, matchesWord } from '../command-rules.ts';
import { hasHole } from '../walk/marks.ts';

export const NO_RULES: CommandRules = { allow: [], ask: [], deny: [] };

/** `strict`: an argument that cannot be read counts as one that matches. */
export function matchesRule(
  rule: CommandRule,
  argv: readonly string[],
  strict: boolean,
  budget: Budget,
): boolean {
  const { words, open, byName } = rule;
  if (argv.length < words.length || (!open && argv.length > words.length)) return false;
  return words.every((word, i) => {
    const given = argv[i]!;
    const text = i === 0 && byName ? given.slice(given.lastIndexOf('/') + 1) : given;
    budget.charge(1 + (word.length > 1 ? text.length : 0));
    return matchesWord(word, text) || (strict && hasHole(text));
  });
}
