/**
 * Reads the `webhook` of a request that starts a run: the URL that gets the run's end and its approval requests.
 * Whether the server may connect to that address is checked elsewhere.
 */
import { TalariaError } from './errors.ts';

export interface WebhookRequest {
  /** Normalised, without a fragment. */
  url: string;
  /** Signs the messages; without it they are unsigned. */
  secret: string | undefined;
}

export const WEBHOOK_URL_MAX = 2048;
export const WEBHOOK_SECRET_MIN = 16;
export const WEBHOOK_SECRET_MAX = 256;

/** Matches a secret whose decoded bytes, not its characters, are the key. */
export const WEBHOOK_SECRET_PREFIX = 'whsec_';

/** `null` asks for no webhook, not even the server's default; `undefined` leaves it to the server. */
export function parseWebhook(value: unknown): WebhookRequest | null | undefined {
  if (value === undefined || value === null) return value;
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid('webhook', "'webhook' must be an object with a 'url', or null for none");
  }
  const { url, secret } = value as Record<string, unknown>;
  return { url: parseUrl(url), secret: parseSecret(secret) };
}

function parseUrl(value: unknown): string {
  const param = 'webhook.url';
  if (typeof value !== 'string' || value === '') throw invalid(param, "'webhook.url' must be a string");
  if (value.length > WEBHOOK_URL_MAX) {
    throw invalid(param, `'webhook.url' must have at most ${WEBHOOK_URL_MAX} characters`);
  }
  const url = toUrl(value);
  // The URL parser accepts port 0.
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.port === '0') {
    throw invalid(param, "'webhook.url' must be an http:// or https:// URL");
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      param,
      "'webhook.url' must not contain a user name or password; sign with 'webhook.secret'",
    );
  }
  url.hash = '';
  return url.href;
}

function toUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function parseSecret(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const problem = typeof value === 'string' ? secretProblem(value) : 'must be a string';
  if (problem !== undefined) throw invalid('webhook.secret', `'webhook.secret' ${problem}`);
  return value as string;
}

/** What is wrong with a secret, as the end of a sentence that begins with its name. Never repeats the secret. */
export function secretProblem(secret: string): string | undefined {
  if (secret.length < WEBHOOK_SECRET_MIN || secret.length > WEBHOOK_SECRET_MAX) {
    return `must have ${WEBHOOK_SECRET_MIN} to ${WEBHOOK_SECRET_MAX} characters`;
  }
  if (/\p{Cc}/u.test(secret)) return 'must not contain control characters';
  if (!secret.startsWith(WEBHOOK_SECRET_PREFIX)) return undefined;
  const base64 = secret.slice(WEBHOOK_SECRET_PREFIX.length);
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return undefined;
  return `must be base64 after ${WEBHOOK_SECRET_PREFIX}`;
}

function invalid(param: string, message: string): TalariaError {
  return new TalariaError('invalid_webhook', { message, param });
}
