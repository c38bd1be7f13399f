/**
 * Rules of the operator: a program and its arguments, word by word. `*` and `?` stand for characters of one argument,
 * `**` as the last word for any further ones. A rule is compared with every command that would run, without its
 * wrappers as well as with them, and never with a part of an argument.
 */
import { hasHole } from '../walk/marks.ts';

export interface OperatorRule {
  /** As the operator wrote it. */
  text: string;
  words: readonly RegExp[];
  /** The program has no path: it is compared with the base name. */
  byName: boolean;
  /** Any further arguments may follow. */
  open: boolean;
}

export interface OperatorRules {
  allow: readonly OperatorRule[];
  ask: readonly OperatorRule[];
  deny: readonly OperatorRule[];
}

export const NO_RULES: OperatorRules = { allow: [], ask: [], deny: [] };

const WORD = /"([^"]*)"|'([^']*)'|(\S+)/g;

/** Throws with a message for the operator. */
export function parseRule(text: string): OperatorRule {
  const words = [...text.matchAll(WORD)].map(([, double, single, plain]) => double ?? single ?? plain ?? '');
  const open = words.at(-1) === '**';
  if (open) words.pop();
  const [program = ''] = words;
  if (program === '') throw new Error('a rule names a program, such as `git push **`');
  if (/^\*+$/.test(program)) throw new Error('a rule names a program; `*` alone would be every one');
  if (words.includes('**')) throw new Error('`**` stands for all further arguments and comes last');
  return { text, words: words.map(pattern), byName: !program.includes('/'), open };
}

function pattern(word: string): RegExp {
  const escaped = word.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\*+/g, '[^]*').replaceAll('?', '[^]')}$`);
}

/** `strict`: an argument that cannot be read counts as one that matches. */
export function matchesRule(rule: OperatorRule, argv: readonly string[], strict: boolean): boolean {
  const { words, open, byName } = rule;
  if (argv.length < words.length || (!open && argv.length > words.length)) return false;
  return words.every((word, i) => {
    const given = argv[i]!;
    const text = i === 0 && byName ? given.slice(given.lastIndexOf('/') + 1) : given;
    return word.test(text) || (strict && hasHole(text));
  });
}
