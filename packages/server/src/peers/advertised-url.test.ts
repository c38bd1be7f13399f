import { hostname, type NetworkInterfaceInfo } from 'node:os';
import { expect, it } from 'vitest';
import { advertisedUrl } from './advertised-url.ts';

const at = (address: string, internal = false) =>
  ({ address, internal, family: address.includes(':') ? 'IPv6' : 'IPv4' }) as NetworkInterfaceInfo;
const interfaces = {
  lo: [at('127.0.0.1', true), at('::1', true)],
  eth0: [at('fe80::1'), at('2001:db8::7'), at('169.254.3.4'), at('10.1.2.3')],
  eth1: [at('192.168.0.9')],
};

it.each([
  ['127.0.0.1', 'http://127.0.0.1:8642'],
  ['runs.example.com', 'http://runs.example.com:8642'],
  ['::1', 'http://[::1]:8642'],
  ['0.0.0.0', 'http://10.1.2.3:8642'],
  ['::', 'http://10.1.2.3:8642'],
])('of a server that listens on %s is %s', (host, url) => {
  expect(advertisedUrl({ host, port: 8642, interfaces })).toBe(url);
});

it('has an IPv6 address if there is no other', () => {
  const eth0 = interfaces.eth0.slice(0, 2);
  expect(advertisedUrl({ host: '::', port: 1, interfaces: { eth0 } })).toBe('http://[2001:db8::7]:1');
});

it('has the name of a machine without an address for others', () => {
  expect(advertisedUrl({ host: '0.0.0.0', port: 1, interfaces: { lo: interfaces.lo } })).toBe(
    `http://${hostname()}:1`,
  );
});
