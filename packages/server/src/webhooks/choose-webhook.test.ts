import { describe, expect, it } from 'vitest';
import { chooseWebhook, type WebhookSettings } from './choose-webhook.ts';

const none: WebhookSettings = { url: undefined, secret: undefined, allowPrivate: false };
const configured: WebhookSettings = { ...none, url: 'https://default.example.com/', secret: 'a secret' };
const own = { url: 'https://own.example.com/', secret: 'the secret of the run' };
const local = { url: 'http://127.0.0.1:3000/', secret: undefined };

describe('the webhook of a run', () => {
  it('does not exist if nobody asks for one', () => {
    expect(chooseWebhook(undefined, none)).toBeUndefined();
    expect(chooseWebhook(null, none)).toBeUndefined();
    expect(chooseWebhook(null, configured)).toBeUndefined();
  });

  it('is the default, with its secret by reference', () => {
    expect(chooseWebhook(undefined, configured)).toEqual({
      url: 'https://default.example.com/',
      secret: { kind: 'configured' },
    });
    expect(chooseWebhook(undefined, { ...configured, secret: undefined })?.secret).toEqual({ kind: 'none' });
  });

  it("is its own rather than the default, and is never signed with the default's secret", () => {
    expect(chooseWebhook(own, configured)).toEqual({
      url: own.url,
      secret: { kind: 'own', value: own.secret },
    });
    expect(chooseWebhook({ ...own, secret: undefined }, configured)).toEqual({
      url: own.url,
      secret: { kind: 'none' },
    });
  });

  it('is refused at a private address unless that is allowed', () => {
    const refused = expect.objectContaining({ code: 'invalid_webhook', param: 'webhook.url' });
    expect(() => chooseWebhook(local, none)).toThrow(refused);
    expect(chooseWebhook(local, { ...none, allowPrivate: true })).toMatchObject({ url: local.url });
  });
});
