import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DnsServer } from '../../../../test/support/dns-server.ts';
import { WebhookReceiver } from '../../../../test/support/webhook-receiver.ts';
import { PRIVATE_ADDRESSES } from './address-rules.ts';
import { postMessage } from './post-message.ts';
import { createLookup, type NameOptions } from './resolve-name.ts';

function resolve(name: string, options: NameOptions): Promise<unknown> {
  return promisify(createLookup(options))(name, { all: true });
}

describe('a name', () => {
  it('has the addresses from the DNS', async () => {
    await using dns = await DnsServer.start({ 'hooks.test': '192.0.2.7' });
    expect(await resolve('hooks.test', { servers: [dns.address] })).toEqual([
      { address: '192.0.2.7', family: 4 },
    ]);
  });

  it('that the DNS does not know is looked up elsewhere', async () => {
    await using dns = await DnsServer.start({});
    await expect(resolve('unknown.invalid', { servers: [dns.address] })).rejects.toMatchObject({
      syscall: 'getaddrinfo',
    });
    expect(dns.asked).toContain('unknown.invalid');
  });

  it('of this machine is not looked up in the DNS', async () => {
    await using dns = await DnsServer.start('silent');
    const addresses = await resolve('localhost', { servers: [dns.address] });
    expect(addresses).toContainEqual(
      expect.objectContaining({ address: expect.stringMatching(/^127\.|^::1$/) }),
    );
    expect(dns.asked).toEqual([]);
  });

  it('whose DNS server never answers is given up, and nobody else is asked', async () => {
    await using dns = await DnsServer.start('silent');
    await expect(resolve('slow.test', { servers: [dns.address], timeoutMs: 50 })).rejects.toMatchObject({
      code: 'ETIMEOUT',
    });
  });
});

describe('a name whose addresses change', () => {
  it('is judged by the address that is connected to', async () => {
    await using receiver = await WebhookReceiver.start();
    await using dns = await DnsServer.start({ 'rebind.test': '127.0.0.1' });
    const post = () =>
      postMessage({
        url: receiver.url.replace('127.0.0.1', 'rebind.test'),
        headers: {},
        body: 'x',
        timeoutMs: 5_000,
        blocked: PRIVATE_ADDRESSES,
        signal: new AbortController().signal,
        lookup: createLookup({ servers: [dns.address] }),
      });
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '0.0.0.0']) {
      dns.set('rebind.test', address);
      expect(await post(), address).toEqual({
        kind: 'refused',
        error: 'the receiver has an address that is not public',
      });
    }
    expect(receiver.received).toEqual([]);
    // Once per attempt: an earlier lookup is not what is connected to.
    expect(dns.asked.filter((name) => name === 'rebind.test').length).toBeGreaterThanOrEqual(4);
  });
});
