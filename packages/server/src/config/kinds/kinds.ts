/**
 * The kinds of value a setting can have: how each is read from text (a flag, the environment) and from JSON
 * (the file), what is allowed, and how it is shown.
 *
 * - `read` never throws. It returns the value or the reason for the refusal. A reason never repeats the given value:
 *   the caller adds it through `shown`, which keeps secrets out of messages.
 * - Text and JSON are read separately, because they differ in what is a mistake: `8642` is the only way to give a port
 *   in the environment, while `"8642"` in a JSON file is a string where a number belongs.
 */
import { isAbsolute, resolve } from 'node:path';
import { isTimeZone } from '@talaria/protocol';

export type Read<T> = { value: T } | { refused: string };

/** What else a value may depend on. */
export interface ReadContext {
  homeDir: string;
  /** Relative paths start here: the working directory, or the folder of the file they came from. */
  baseDir: string;
  /** The variables for `${NAME}`, in the kinds that support it. */
  env: Readonly<Record<string, string | undefined>>;
}

export interface Kind<T> {
  /** One or two words for help and documentation. */
  readonly name: string;
  /** What may be given, as the end of the sentence "allowed: …". */
  readonly allowed: string;
  readonly secret: boolean;
  fromText(text: string, context: ReadContext): Read<T>;
  fromJson(json: unknown, context: ReadContext): Read<T>;
  /** The given value in the form that a message may repeat. */
  shown(given: unknown): string;
  /** A value in use, as the text that a user would write for it; secrets as `***`. */
  format(value: T): string;
}

export const HIDDEN = '***';

/** No reason: "allowed: …" already says what is wrong. */
const REFUSED = { refused: '' };

const DECIMAL = /^[+-]?\d+(\.\d+)?$/;

/** Long enough to recognise the value, short enough that a pasted file does not fill the terminal. */
const SHOWN_CHARS = 100;

/** Node's timers hold 31 bits of milliseconds; a longer one would fire at once. */
export const LONGEST_TIMER_SECONDS = 2_147_483;

export function showGiven(given: unknown): string {
  const text = JSON.stringify(given) ?? String(given);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

/** A kind whose JSON form is a string holding the same text. */
export function textKind<T>(kind: {
  name: string;
  allowed: string;
  read(text: string, context: ReadContext): Read<T>;
  format(value: T): string;
  shown?(given: unknown): string;
}): Kind<T> {
  return {
    name: kind.name,
    allowed: kind.allowed,
    secret: false,
    fromText: kind.read,
    fromJson: (json, context) => (typeof json === 'string' ? kind.read(json, context) : REFUSED),
    shown: kind.shown ?? showGiven,
    format: kind.format,
  };
}

/** One line of text, or several where the value is prose. */
export function string(options: { multiline?: boolean; maxChars?: number } = {}): Kind<string> {
  const maxChars = options.maxChars ?? 256;
  const control = options.multiline ? /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/ : /[\0-\x1f\x7f]/;
  return textKind({
    name: options.multiline ? 'text' : 'string',
    allowed: `${options.multiline ? 'text' : 'one line of text'} of 1 to ${maxChars} characters`,
    read: (text) =>
      text.trim() === '' || text.length > maxChars || control.test(text) ? REFUSED : { value: text },
    format: (value) => value,
  });
}

export function integer(range: { min: number; max: number }): Kind<number> {
  return numberKind('integer', `an integer from ${range.min} to ${range.max}`, /^[+-]?\d+$/, (value) => {
    return Number.isSafeInteger(value) && value >= range.min && value <= range.max;
  });
}

/** Fractions are fine. */
export function number(range: { min: number; max: number }): Kind<number> {
  const allowed = `a number from ${range.min} to ${range.max}`;
  return numberKind('number', allowed, DECIMAL, (value) => value >= range.min && value <= range.max);
}

/** A length of time; fractions are fine. */
export function seconds(range: { min: number; max: number }): Kind<number> {
  const allowed = `a number of seconds from ${range.min} to ${range.max}`;
  return numberKind('seconds', allowed, DECIMAL, (value) => {
    return value >= range.min && value <= range.max;
  });
}

function numberKind(
  name: string,
  allowed: string,
  form: RegExp,
  fits: (value: number) => boolean,
): Kind<number> {
  const check = (value: number) => (fits(value) ? { value } : REFUSED);
  return {
    name,
    allowed,
    secret: false,
    fromText: (text) => (form.test(text.trim()) ? check(Number(text)) : REFUSED),
    fromJson: (json) => (typeof json === 'number' ? check(json) : REFUSED),
    shown: showGiven,
    format: String,
  };
}

const TRUE_WORDS = ['true', '1', 'yes', 'on'];
const FALSE_WORDS = ['false', '0', 'no', 'off'];

export function boolean(): Kind<boolean> {
  return {
    name: 'boolean',
    allowed: 'true or false',
    secret: false,
    fromText(text) {
      const word = text.trim().toLowerCase();
      if (TRUE_WORDS.includes(word)) return { value: true };
      return FALSE_WORDS.includes(word) ? { value: false } : REFUSED;
    },
    fromJson: (json) => (typeof json === 'boolean' ? { value: json } : REFUSED),
    shown: showGiven,
    format: String,
  };
}

/**
 * One of a few words. `planned` words are names users will meet in the documentation of later versions: they
 * are refused like any other, but with the true reason.
 */
export function choice<const T extends string>(words: readonly T[]): Kind<T> {
  return textKind<T>({
    name: words.join(' | '),
    allowed: listWords(words),
    read(text) {
      const word = text.trim().toLowerCase();
      const known = words.find((candidate) => candidate === word);
      return known === undefined ? REFUSED : { value: known };
    },
    format: (value) => value,
  });
}

/** Any of a few words; `none` is none of them. */
export function choices<const T extends string>(words: readonly T[]): Kind<readonly T[]> {
  const read = (given: readonly unknown[]): Read<readonly T[]> => {
    const found = words.filter((word) => given.includes(word));
    return found.length === new Set(given).size ? { value: found } : REFUSED;
  };
  return {
    name: 'list',
    allowed: `any of ${words.join(', ')}, separated by commas, or none`,
    secret: false,
    fromText: (text) => {
      const given = text.split(',').map((word) => word.trim().toLowerCase());
      return given.join() === 'none' ? { value: [] } : read(given);
    },
    fromJson: (json) => (Array.isArray(json) ? read(json) : REFUSED),
    shown: showGiven,
    format: (value) => (value.length === 0 ? 'none' : value.join(',')),
  };
}

function listWords(words: readonly string[]): string {
  if (words.length < 2) return `only ${words.join('')}`;
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/**
 * A credential that travels in a header. Anything outside visible ASCII could never match or would break the
 * header, and is nearly always a stray newline from a file.
 */
export function secret(): Kind<string> {
  return {
    name: 'secret',
    allowed: 'visible ASCII characters without spaces or line breaks',
    secret: true,
    fromText: readSecret,
    fromJson: (json) => (typeof json === 'string' ? readSecret(json) : REFUSED),
    shown: () => HIDDEN,
    format: () => HIDDEN,
  };
}

function readSecret(text: string): Read<string> {
  return isHeaderToken(text) ? { value: text } : REFUSED;
}

export function isHeaderToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** A name of the time zone database. */
export function timeZone(): Kind<string> {
  return textKind({
    name: 'time zone',
    allowed: 'the name of a time zone, such as Europe/Berlin or UTC',
    read: (text) => (isTimeZone(text.trim()) ? { value: text.trim() } : REFUSED),
    format: (value) => value,
  });
}

/** A folder: `~` is the home directory, and the result is absolute. */
export function directory(): Kind<string> {
  return textKind({
    name: 'path',
    allowed: 'the path of a directory (~ stands for the home directory)',
    read: (text, context) => readPath(text, context),
    format: (value) => value,
  });
}

export function readPath(text: string, { homeDir, baseDir }: Omit<ReadContext, 'env'>): Read<string> {
  if (text.trim() === '' || text.includes('\0')) return REFUSED;
  if (text !== '~' && !text.startsWith('~/')) {
    return text.startsWith('~') ? { refused: '~name is not understood' } : { value: resolve(baseDir, text) };
  }
  if (!isAbsolute(homeDir)) return { refused: 'the home directory is not known' };
  return { value: resolve(homeDir, text.slice(2)) };
}
