/** Which webhook a run gets: its own, else the server's, else none. */
import { TalariaError, type WebhookRequest } from '@talaria/protocol';
import type { Webhook } from '../journal/outbox.ts';
import { isPrivateUrl } from './address-rules.ts';

export interface WebhookSettings {
  /** The default. */
  url: string | undefined;
  /** Only for the default: with another receiver a client could collect signatures. */
  secret: string | undefined;
  allowPrivate: boolean;
}

/** Throws when the receiver may not be called. Whether a name leads to a private address shows when it is called. */
export function chooseWebhook(
  request: WebhookRequest | null | undefined,
  { url, secret, allowPrivate }: WebhookSettings,
): Webhook | undefined {
  if (request === null) return undefined;
  if (request === undefined) {
    return url === undefined
      ? undefined
      : { url, secret: { kind: secret === undefined ? 'none' : 'configured' } };
  }
  if (!allowPrivate && isPrivateUrl(new URL(request.url))) {
    throw new TalariaError('invalid_webhook', {
      message:
        "'webhook.url' leads to an address that is not public, and this server calls none of those " +
        '(TALARIA_WEBHOOK_ALLOW_PRIVATE allows it)',
      param: 'webhook.url',
    });
  }
  const own = request.secret;
  return { url: request.url, secret: own === undefined ? { kind: 'none' } : { kind: 'own', value: own } };
}
