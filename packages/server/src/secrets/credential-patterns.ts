/**
 * Patterns of credentials that this server does not know, such as the upstream key of a gateway that repeats it in an
 * error.
 */
import { MASK } from './secret-filter.ts';

const PATTERNS: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, MASK],
  [/\b(Bearer|Basic)\s+[\w.~+/=*-]{6,}/gi, `$1 ${MASK}`],
  [/\b(?:sk|pk|rk|xai|nvapi|gsk|hf|gh[pousr]|github_pat|glpat|xox[a-z]|r8|fw|tgp)[-_][\w*-]{6,}/g, MASK],
  [/\bAIza[\w-]{20,}/g, MASK],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, MASK],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, MASK],
  [/(:\/\/[^\s/:@]*:)[^\s/@]+@/g, `$1${MASK}@`],
  [/([?&](?:key|api_?key|token|access_token)=)[^&\s"']+/gi, `$1${MASK}`],
  [
    /((?:api[-_ ]?key|x-goog-api-key|authorization|token|passw(?:or)?d|secret)["']?\s*[:=]\s*["']?)(?!Bearer|Basic)[^\s"',;&[]{6,}/gi,
    `$1${MASK}`,
  ],
];

/** A field with such a name holds a secret, whatever its value looks like. */
const SECRET_NAME =
  /^(?:.*[-_])?(?:api[-_]?key|token|passw(?:or)?d|passphrase|secret|authorization|private[-_]?key)$/i;

export function maskCredentials(text: string): string {
  let result = text;
  for (const [pattern, replacement] of PATTERNS) result = result.replace(pattern, replacement);
  return result;
}

/** `mask` for the strings inside a JSON value; a field with such a name is masked completely. */
export function maskValue(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((entry) => maskValue(entry, mask));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      mask(name),
      SECRET_NAME.test(name) && typeof entry === 'string' ? MASK : maskValue(entry, mask),
    ]),
  );
}
