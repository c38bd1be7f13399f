import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FarReceiver } from '../../../../test/support/far-receiver.ts';
import { type Behaviour, WebhookReceiver } from '../../../../test/support/webhook-receiver.ts';
import { PRIVATE_ADDRESSES } from './address-rules.ts';
import { type PostOptions, postMessage } from './post-message.ts';

function post(url: string, options: Partial<PostOptions> = {}) {
  return postMessage({
    url,
    headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
    body: 'größer',
    timeoutMs: 5_000,
    blocked: undefined,
    signal: new AbortController().signal,
    ...options,
  });
}

describe('an attempt', () => {
  it('sends headers and body', async () => {
    await using receiver = await WebhookReceiver.start();
    expect(await post(receiver.url)).toEqual({ kind: 'taken' });
    const [{ headers, body }] = (await receiver.receives(1)) as [(typeof receiver.received)[0]];
    expect(body).toBe('größer');
    expect(headers).toMatchObject({
      'webhook-id': 'evt_1',
      'content-type': 'application/json',
      'content-length': '8',
    });
  });

  it.each<[Behaviour, string, string?]>([
    [200, 'taken'],
    [299, 'taken'],
    [304, 'failed', 'the receiver answered 304, and redirects are not followed'],
    [400, 'failed', 'the receiver answered 400'],
    [404, 'failed', 'the receiver answered 404'],
    [410, 'refused', 'the receiver answered 410: it wants no more messages'],
    [429, 'failed', 'the receiver answered 429'],
    [503, 'failed', 'the receiver answered 503'],
    ['close', 'failed', 'the receiver closed the connection'],
    ['garbage', 'failed', 'the message could not be sent (HPE_INVALID_CONSTANT)'],
    ['upgrade', 'failed', 'the receiver answered 101'],
  ])('that meets %s is %s', async (behaviour, kind, error) => {
    await using receiver = await WebhookReceiver.start(behaviour);
    expect(await post(receiver.url)).toEqual(error === undefined ? { kind } : { kind, error });
  });

  it('follows no redirect', async () => {
    await using elsewhere = await WebhookReceiver.start();
    await using receiver = await WebhookReceiver.start({ redirect: elsewhere.url });
    expect(await post(receiver.url)).toMatchObject({ kind: 'failed', error: /redirects are not followed/ });
    expect(elsewhere.received).toEqual([]);
  });

  it('gives up on a receiver that does not answer', async () => {
    await using receiver = await WebhookReceiver.start('hang');
    expect(await post(receiver.url, { timeoutMs: 100 })).toEqual({
      kind: 'failed',
      error: 'no answer within 0.1 s',
    });
  });

  it('does not wait for a response to end after a good status', async () => {
    await using receiver = await WebhookReceiver.start('trickle');
    expect(await post(receiver.url, { timeoutMs: 300 })).toEqual({ kind: 'taken' });
  });

  it('reads little of an endless response', async () => {
    await using receiver = await WebhookReceiver.start('flood');
    expect(await post(receiver.url)).toEqual({ kind: 'taken' });
    // In addition to what the sockets of both sides buffer.
    expect(receiver.flooded).toBeLessThan(50_000_000);
  });

  it('reports that nobody listens', async () => {
    const receiver = await WebhookReceiver.start();
    const { url } = receiver;
    await receiver[Symbol.asyncDispose]();
    expect(await post(url)).toEqual({ kind: 'failed', error: 'the receiver refused the connection' });
  });

  it('waits for a distant receiver, also when another address of its name leads nowhere', async () => {
    using receiver = await FarReceiver.start();
    const attempt = post(receiver.url, { lookup: receiver.lookup, timeoutMs: 20_000 });
    await receiver.arrive();
    expect(await attempt).toEqual({ kind: 'taken' });
  });

  it('ends when it is aborted', async () => {
    await using receiver = await WebhookReceiver.start('hang');
    const calledOff = new AbortController();
    const attempt = post(receiver.url, { signal: calledOff.signal });
    await receiver.receives(1);
    calledOff.abort();
    expect(await attempt).toMatchObject({ kind: 'failed' });
  });
});

describe('an attempt at a private address', () => {
  it.each(['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost'])(
    'does not connect to %s, and says no more than that',
    async (host) => {
      await using receiver = await WebhookReceiver.start();
      const url = receiver.url.replace('127.0.0.1', host);
      expect(await post(url, { blocked: PRIVATE_ADDRESSES })).toEqual({
        kind: 'refused',
        error: 'the receiver has an address that is not public',
      });
      expect(receiver.received).toEqual([]);
      expect(await post(url.replace(host, '127.0.0.1'))).toEqual({ kind: 'taken' });
    },
  );

  it('does not connect for TLS either', async () => {
    let connections = 0;
    const server = createTcpServer(() => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(await post(url, { blocked: PRIVATE_ADDRESSES })).toMatchObject({ kind: 'refused' });
    await new Promise((resolve) => server.close(resolve));
    expect(connections).toBe(0);
  });
});

const openssl = spawnSync('openssl', ['version']).status === 0;

describe.skipIf(!openssl)(
  `an attempt by TLS${openssl ? '' : ' (no openssl here to make a certificate)'}`,
  () => {
    it('is not made to a receiver with an untrusted certificate', async () => {
      const directory = mkdtempSync(join(tmpdir(), 'talaria-webhook-'));
      const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
      const command = `req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout ${key} -out ${cert}`;
      expect(spawnSync('openssl', command.split(' ')).status).toBe(0);
      const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) });
      rmSync(directory, { recursive: true });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      expect(await post(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)).toEqual({
        kind: 'failed',
        error: 'the message could not be sent (DEPTH_ZERO_SELF_SIGNED_CERT)',
      });
      await new Promise((resolve) => server.close(resolve));
    });
  },
);
