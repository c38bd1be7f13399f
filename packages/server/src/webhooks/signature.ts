/**
 * The headers by which a receiver recognises a message: Standard Webhooks (https://www.standardwebhooks.com), which receivers
 * have libraries for. The id stays the same in every attempt; time and signature are made anew, so that a receiver can
 * refuse what is old.
 */
import { createHmac } from 'node:crypto';
import { WEBHOOK_SECRET_PREFIX } from '@talaria/protocol';

export interface Message {
  id: string;
  body: string;
}

/** Unsigned without a secret. */
export function messageHeaders(
  { id, body }: Message,
  secret: string | undefined,
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return headers;
  const digest = createHmac('sha256', signingKey(secret))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64');
  return { ...headers, 'webhook-signature': `v1,${digest}` };
}

function signingKey(secret: string): Buffer {
  return secret.startsWith(WEBHOOK_SECRET_PREFIX)
    ? Buffer.from(secret.slice(WEBHOOK_SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
