import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TalariaError } from './errors.ts';
import { parseCreateRun } from './requests.ts';
import { parseWebhook } from './webhook-request.ts';

const SECRET = 'sixteen letters!';

describe('the webhook of a request', () => {
  it("is the server's default when absent, and off when null", () => {
    expect(parseWebhook(undefined)).toBeUndefined();
    expect(parseWebhook(null)).toBeNull();
    expect(parseCreateRun({ input: 'x' }).webhook).toBeUndefined();
    expect(parseCreateRun({ input: 'x', webhook: null }).webhook).toBeNull();
  });

  it.each([
    ['https://hooks.example.com/a?token=b', 'https://hooks.example.com/a?token=b'],
    ['HTTP://Hooks.Example.com:80', 'http://hooks.example.com/'],
    ['https://example.com/a#part', 'https://example.com/a'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    [`https://example.com/${'a'.repeat(2048 - 20)}`, `https://example.com/${'a'.repeat(2048 - 20)}`],
  ])('takes the URL %.60s', (url, href) => {
    expect(parseWebhook({ url })).toEqual({ url: href, secret: undefined });
  });

  it.each([
    SECRET,
    `whsec_${btoa('sixteen letters!')}`,
    'a sentence with spaces and ümlauts',
    'x'.repeat(256),
  ])('takes the secret %.40s', (secret) => {
    expect(parseWebhook({ url: 'https://example.com', secret, more: 1 })).toEqual({
      url: 'https://example.com/',
      secret,
    });
  });

  it.each<[string, unknown, string, string]>([
    ['a string', 'https://example.com', 'webhook', "an object with a 'url'"],
    ['a list', [], 'webhook', "an object with a 'url'"],
    ['no URL', {}, 'webhook.url', 'must be a string'],
    ['an empty URL', { url: '' }, 'webhook.url', 'must be a string'],
    ['a number as URL', { url: 1 }, 'webhook.url', 'must be a string'],
    ['no scheme', { url: 'example.com/hook' }, 'webhook.url', 'http:// or https://'],
    ['another scheme', { url: 'file:///etc/passwd' }, 'webhook.url', 'http:// or https://'],
    ['no host', { url: 'https://' }, 'webhook.url', 'http:// or https://'],
    ['a port that is none', { url: 'https://example.com:0/' }, 'webhook.url', 'http:// or https://'],
    ['a password', { url: 'https://ada:pw@example.com' }, 'webhook.url', 'user name or password'],
    ['a user', { url: 'https://ada@example.com' }, 'webhook.url', 'user name or password'],
    ['a long URL', { url: `https://example.com/${'a'.repeat(2048)}` }, 'webhook.url', 'at most 2048'],
    ['a number as secret', { url: 'https://e.com', secret: 7 }, 'webhook.secret', 'must be a string'],
    ['a short secret', { url: 'https://e.com', secret: 'x'.repeat(15) }, 'webhook.secret', '16 to 256'],
    ['a long secret', { url: 'https://e.com', secret: 'x'.repeat(257) }, 'webhook.secret', '16 to 256'],
    ['a line break', { url: 'https://e.com', secret: `${SECRET}\n` }, 'webhook.secret', 'control'],
    ['broken base64', { url: 'https://e.com', secret: 'whsec_not*base64' }, 'webhook.secret', 'base64'],
  ])('is refused with %s, by name and with the reason', (_, webhook, param, reason) => {
    const refuse = () => parseCreateRun({ input: 'x', webhook });
    expect(refuse).toThrow(expect.objectContaining({ code: 'invalid_webhook', param }));
    expect(refuse).toThrow(reason);
  });

  it('never repeats the refused value, which may be a secret', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8 }), fc.string({ minLength: 8, maxLength: 300 }), (url, secret) => {
        try {
          parseWebhook({ url, secret });
        } catch (error) {
          expect(error).toBeInstanceOf(TalariaError);
          expect((error as TalariaError).message).not.toContain(secret);
          expect((error as TalariaError).message).not.toContain(url);
        }
      }),
    );
  });
});
