/**
 * Tells secrets from plain values where a setting may hold either, such as the environment of a program.
 *
 * A known secret is masked wherever it stands, also in the words of the model. So a value that is a common word must
 * not count as one: with `NODE_ENV=production` every "production" would be gone. What is not plainly harmless is taken
 * for a secret, and so is nearly everything under a name that says so.
 */

const SECRET_NAME = /key|token|secret|pass|credential|auth(?!or)|cookie|session|private|(?:^|[-_])pat$/i;
/** Never secret, whatever the name: where a key lies, and how many tokens there may be. */
const HARMLESS = /^(?:~?\.{0,2}\/[\w ./-]*|\d{1,9}(?:\.\d{1,9})?)$/;
/** Words as people write them, and addresses without a user or a query. */
const WORD = '(?:[A-Z]?[a-z]{1,20}|[A-Z]{1,20})';
const PLAIN = new RegExp(`^(?:${WORD}(?:[-_., ]${WORD})*|https?://[\\w.-]+(?::\\d+)?(?:/[\\w.-]{0,24})*)$`);
/** `Bearer abc`: a program that prints its credential prints it without the scheme too. */
const SCHEME = /^(?:bearer|basic|token)\s+/i;

/** What of the value with this name must not be shown. */
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

/** Long parts of a path are how some services hand out an address that is a key. */
export function secretsInPath(path: string): string[] {
  return path.split('/').filter((part) => part.length > 24);
}
