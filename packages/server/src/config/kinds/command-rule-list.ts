/** A list of command rules, one per line or separated by semicolons; in JSON an array of them. */
import { parseRule } from '../../agent/approvals/matcher/command-rules.ts';
import { type Kind, type Read, showGiven } from './kinds.ts';

export function commandRuleList(): Kind<readonly string[]> {
  return {
    name: 'rules',
    allowed: 'a program with arguments, such as `git push *`; several separated by semicolons or line breaks',
    secret: false,
    fromText: (text) => readRules(text.split(/[;\n]/).filter((rule) => rule.trim() !== '')),
    fromJson(json) {
      if (typeof json === 'string') return readRules([json]);
      return Array.isArray(json) ? readRules(json) : { refused: '' };
    },
    shown: showGiven,
    format: (rules) => rules.join('; '),
  };
}

function readRules(entries: readonly unknown[]): Read<readonly string[]> {
  const rules: string[] = [];
  for (const [index, entry] of entries.entries()) {
    if (typeof entry !== 'string') return { refused: `entry ${index + 1} is not a string` };
    try {
      rules.push(parseRule(entry).text);
    } catch (error) {
      return { refused: `entry ${index + 1}: ${(error as Error).message}` };
    }
  }
  return { value: rules };
}
