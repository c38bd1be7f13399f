/**
 * Private-use characters that stand for what is not plain text in an expanded word, so that a half-known value passes
 * through variables, pipes and `sh -c` unchanged. The input cannot contain them (readings.ts removes U+E000–U+E01F).
 */

/** A value that this command line does not show: the environment, a file, the output of a program. */
export const ENV = '\uE000';
/** A text of this command line after a transformation that is not followed: it may be anything, on purpose. */
export const HIDDEN = '\uE001';
/** Settings for the shell, printed by a tool that is made to be used as `eval "$(tool init)"`. */
export const SETUP = '\uE002';
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
const GLOB = /[\uE006\uE007]/;

export const hasHole = (text: string): boolean => HOLE.test(text);
export const hasGlob = (text: string): boolean => GLOB.test(text);
/** The text is nothing but holes. */
export const isHole = (text: string): boolean => HOLE.test(text) && text.replace(HOLES, '').trim() === '';

/** The output of a program of unknown effect that has read the text: its content is unknown, but its origin is kept. */
export function taintOf(text: string): string {
  const origin = (text.includes(REMOTE) ? REMOTE : '') + (text.includes(DECODED) ? DECODED : '');
  if (origin !== '') return origin;
  return text.trim() !== '' && !text.includes(ENV) ? HIDDEN : ENV;
}

/** Back to shell source: glob marks become their characters, holes stay. */
export function toSource(field: string): string {
  return GLOB.test(field) ? field.replaceAll(STAR, '*').replaceAll(ANY, '?') : field;
}

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
