import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { messageHeaders } from './signature.ts';

const message = { id: 'evt_1', body: '{"type":"run.completed","text":"ü\\n"}' };
const base64Secret = `whsec_${Buffer.from('the key of the receiver').toString('base64')}`;

/** As a receiver checks it; unchanged but for whose secret it is. */
function verify(headers: Record<string, string>, secret: string, body = message.body): Promise<void> {
  return new OpenAI({ apiKey: 'none' }).webhooks.verifySignature(body, headers, secret);
}

describe('the signature of a message', () => {
  it('is that of the published example', () => {
    // From the reference implementation of Standard Webhooks.
    const headers = messageHeaders(
      { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' },
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      1_614_265_330_000,
    );
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it.each([base64Secret, 'any text does, ümlauts too'])(
    'is accepted by the openai package: %s',
    async (secret) => {
      await verify(messageHeaders(message, secret, Date.now()), secret);
    },
  );

  it('is refused with another secret, another body, another id and when it is old', async () => {
    const headers = messageHeaders(message, base64Secret, Date.now());
    await expect(verify(headers, 'another secret')).rejects.toThrow(/does not match/);
    await expect(verify(headers, base64Secret, `${message.body} `)).rejects.toThrow(/does not match/);
    await expect(verify({ ...headers, 'webhook-id': 'evt_2' }, base64Secret)).rejects.toThrow(
      /does not match/,
    );
    const old = messageHeaders(message, base64Secret, Date.now() - 301_000);
    await expect(verify(old, base64Secret)).rejects.toThrow(/too old/);
  });

  it('is not there without a secret', () => {
    expect(messageHeaders(message, undefined, 1_700_000_000_999)).toEqual({
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1700000000',
    });
  });
});
