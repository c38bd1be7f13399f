/**
 * Private-use characters that stand for what is not plain text in an expanded word.
 * Keeping them inside the string lets a half-known value pass through variables, pipes, files and
 * `sh -c` unchanged. Invariant: the input cannot contain them (normalise.ts removes U+E000–U+E01F),
 * so a mark always means what the expander put there.
 */

/** The value of a variable the command line does not set: the user's environment, not the agent's text. */
export const ENV = '\uE000';
/** Output of a command, or an expansion that cannot be computed, inside quotes (stays one field). */
export const OPAQUE = '\uE001';
/** The same outside quotes: it may split into several words. */
export const LOOSE = '\uE002';
/** Content fetched from the network. */
export const REMOTE = '\uE003';
/** Content that went through a decoder. */
export const DECODED = '\uE004';
/** The home directory of the user. */
export const HOME = '\uE005';
/** Unquoted `*`. */
export const STAR = '\uE006';
/** Unquoted `?` or `[…]`. */
export const ANY = '\uE007';

// These exist only between a word's parts and its fields.
export const FIELD_BREAK = '\uE008';
export const EMPTY_QUOTES = '\uE009';
export const BRACE_OPEN = '\uE00A';
export const BRACE_COMMA = '\uE00B';
export const BRACE_CLOSE = '\uE00C';
export const TILDE = '\uE00D';
export const CLASS_OPEN = '\uE00E';
export const CLASS_CLOSE = '\uE00F';

const HOLE = /[\uE000-\uE004]/;
const HOLES = /[\uE000-\uE004]+/g;
const COMMAND_OUTPUT = /[\uE001-\uE004]/;
const GLOB = /[\uE006\uE007]/;

export const hasHole = (text: string): boolean => HOLE.test(text);
export const hasCommandOutput = (text: string): boolean => COMMAND_OUTPUT.test(text);
export const hasGlob = (text: string): boolean => GLOB.test(text);
export const withoutHoles = (text: string): string => (HOLE.test(text) ? text.replace(HOLES, '') : text);
/** The text is nothing but holes. */
export const isHole = (text: string): boolean => text !== '' && HOLE.test(text) && withoutHoles(text) === '';

/** What remains of `text` when a command of unknown effect has read it: unknown, but still from where it came. */
export function taintOf(text: string): string {
  return OPAQUE + (text.includes(REMOTE) ? REMOTE : '') + (text.includes(DECODED) ? DECODED : '');
}

/** Back to shell source: glob marks become their characters, holes stay. */
export function toSource(field: string): string {
  return GLOB.test(field) ? field.replaceAll(STAR, '*').replaceAll(ANY, '?') : field;
}

/** Inside quotes an unknown value stays one field; outside it may split. */
export const asQuoted = (value: string): string => value.replaceAll(LOOSE, OPAQUE);
export const asUnquoted = (value: string): string => value.replaceAll(OPAQUE, LOOSE);

/**
 * Whether a field with globs or holes could name `name`. Holes match anything.
 * Iterative, with one backtrack point, so the time is at most |pattern| × |name| and names are short.
 */
export function couldBe(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (n < name.length) {
    const c = pattern[p];
    if (c !== undefined && (c === STAR || HOLE.test(c))) {
      starAt = p++;
      resumeAt = n;
    } else if (c === name[n] || c === ANY) {
      p++;
      n++;
    } else if (starAt >= 0) {
      p = starAt + 1;
      n = ++resumeAt;
    } else {
      return false;
    }
  }
  while (p < pattern.length && (pattern[p] === STAR || HOLE.test(pattern[p]!))) p++;
  return p === pattern.length;
}
