/**
 * Rules of the operator about commands: a program and its arguments, word by word. `*` and `?` stand for characters of
 * one argument, `**` as the last word for any further ones. Without `**` the number of arguments has to be the same.
 * A rule is never compared with a part of an argument.
 */
export interface CommandRule {
  /** As the operator wrote it. */
  text: string;
  words: readonly WordPattern[];
  /** The rule names a program without a path, so only the last part of a program's path is compared. */
  byName: boolean;
  /** Any further arguments may follow. */
  open: boolean;
}

/** A word of a rule, cut at its `*`. */
export type WordPattern = readonly string[];

export interface CommandRules {
  allow: readonly CommandRule[];
  ask: readonly CommandRule[];
  deny: readonly CommandRule[];
}

const WORD = /"([^"]*)"|'([^']*)'|(\S+)/g;

/** Throws with a message for the operator. */
export function parseRule(text: string): CommandRule {
  const words = [...text.matchAll(WORD)].map(([, double, single, plain]) => double ?? single ?? plain ?? '');
  const open = words.at(-1) === '**';
  if (open) words.pop();
  const [program = ''] = words;
  if (program === '' || /^[*?]+$/.test(program)) throw new Error('it names no program');
  if (words.some((word) => word.includes('**')))
    throw new Error('`**` is a word of its own, and the last one');
  return {
    text: text.trim(),
    words: words.map((word) => word.split('*')),
    byName: !program.includes('/'),
    open,
  };
}

/**
 * Whether a word matches a pattern. It never backtracks: taking the first place where a part fits leaves the most room
 * for the other parts. A regular expression would try every place, which takes minutes for a long argument.
 */
export function matchesWord([first = '', ...parts]: WordPattern, word: string): boolean {
  const last = parts.pop();
  if (last === undefined) return word.length === first.length && fits(first, word, 0);
  let at = first.length;
  if (word.length < at + last.length || !fits(first, word, 0)) return false;
  const end = word.length - last.length;
  for (const part of parts) {
    while (at + part.length <= end && !fits(part, word, at)) at++;
    at += part.length;
    if (at > end) return false;
  }
  return fits(last, word, end);
}

function fits(part: string, word: string, at: number): boolean {
  for (let i = 0; i < part.length; i++) if (part[i] !== '?' && part[i] !== word[at + i]) return false;
  return true;
}
