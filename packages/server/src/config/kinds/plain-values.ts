/**
 * Tells secrets from plain values where a setting may hold either, such as the environment of a program.
 *
 * A known secret is masked everywhere, also in the model's text. So a common word must not count as a secret: with
 * `NODE_ENV=production` every "production" would disappear. A value that is not clearly harmless counts as a secret,
 * and so does nearly every value whose name suggests one.
 */

const SECRET_NAME = /key|token|secret|pass|credential|auth(?!or)|cookie|session|private|(?:^|[-_])pat$/i;
/** Never secret, whatever the name: the path of a key, and limits of tokens. */
const HARMLESS = /^(?:~?\.{0,2}\/[\w ./-]*|\d{1,9}(?:\.\d{1,9})?)$/;
/** Ordinary words, and URLs without a user or a query. */
const WORD = '(?:[A-Z]?[a-z]{1,20}|[A-Z]{1,20})';
const PLAIN = new RegExp(`^(?:${WORD}(?:[-_., ]${WORD})*|https?://[\\w.-]+(?::\\d+)?(?:/[\\w.-]{0,24})*)$`);
/** `Bearer abc`: a program that prints its credential also prints it without the scheme. */
const SCHEME = /^(?:bearer|basic|token)\s+/i;

/** The parts of the named value that must be masked. */
export function secretsIn(name: string, value: string): string[] {
  if (value === '' || HARMLESS.test(value)) return [];
  if (!SECRET_NAME.test(name) && PLAIN.test(value)) return [];
  const credential = value.replace(SCHEME, '');
  return credential === value ? [value] : [value, credential];
}

/** The values of `--api-key=abc` and `--api-key abc`. */
export function secretsInArguments(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const [, flag, value] = /^(-[\w-]+)=(.*)$/s.exec(arg) ?? ['', args[index - 1] ?? '', arg];
    const named = /^-[\w-]+$/.test(flag!) && SECRET_NAME.test(flag!);
    return named && !value!.startsWith('-') ? secretsIn(flag!, value!) : [];
  });
}

/** Some services give out URLs with a long path segment that is a key. */
export function secretsInPath(path: string): string[] {
  return path.split('/').filter((part) => part.length > 24);
}
