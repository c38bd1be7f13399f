/**
 * Rules of the operator about commands: a program and its arguments, word by word. `*` and `?` stand for characters of
 * one argument, `**` as the last word for any further ones. Without `**` the number of arguments has to be the same.
 * A rule is never compared with a part of an argument.
 */
export interface CommandRule {
  /** As the operator wrote it. */
  text: string;
  words: readonly RegExp[];
  /** The program has no path: it is compared with the last part of one. */
  byName: boolean;
  /** Any further arguments may follow. */
  open: boolean;
}

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
  return { text: text.trim(), words: words.map(pattern), byName: !program.includes('/'), open };
}

function pattern(word: string): RegExp {
  const escaped = word.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '[^]*').replaceAll('?', '[^]')}$`);
}
