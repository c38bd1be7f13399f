/**
 * Masks what looks like a credential in text that came from a provider.
 *
 * The known key is masked wherever it occurs; the patterns are for keys this process does not know, such as the
 * upstream key of a gateway that repeats it in its error. Better to mask an innocent word than to show a key.
 */
const MASK = '[redacted]';

const PATTERNS: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=*-]{6,}/gi, `$1 ${MASK}`],
  [/\b(?:sk|pk|rk|xai|nvapi|gsk|hf|ghp|r8|fw|tgp)[-_][\w*-]{6,}/g, MASK],
  [/\bAIza[\w-]{20,}/g, MASK],
  [/([?&](?:key|api_?key|token|access_token)=)[^&\s"']+/gi, `$1${MASK}`],
  [/((?:api[-_ ]?key|x-goog-api-key|authorization|token)["']?\s*[:=]\s*["']?)[\w.~+/=*-]{8,}/gi, `$1${MASK}`],
];

/** Shorter values are words ("test", "none") that would mask half the message. */
const MIN_SECRET_CHARS = 6;

export function redactSecrets(text: string, secrets: readonly string[] = []): string {
  let result = text;
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_CHARS) result = result.replaceAll(secret, MASK);
  }
  for (const [pattern, replacement] of PATTERNS) result = result.replace(pattern, replacement);
  return result;
}
