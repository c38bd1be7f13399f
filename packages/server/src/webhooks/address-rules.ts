/**
 * Addresses that a webhook may not use: those of this machine, its network, its cloud's own services, and special
 * ranges. Otherwise anybody who may start runs could make the server call services that they cannot reach themselves.
 *
 * The socket gets the list (`net.connect` takes it), so it applies to the address that is actually connected to. A name
 * that resolves differently the second time gains nothing.
 */
import { BlockList, isIP } from 'node:net';

const IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8], // this host
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // behind a carrier's NAT; a cloud's metadata at 100.100.100.200
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // a cloud's own agent, at an address that looks public
  ['169.254.0.0', 16], // link-local; most clouds' metadata
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments; a cloud's metadata at 192.0.0.192
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];

const IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['::', 96], // unspecified, loopback, and IPv4 in its oldest disguise
  ['::ffff:0:0:0', 96], // IPv4 where a network translates without state
  ['64:ff9b:1::', 48], // a network's own NAT64
  ['100::', 64], // discard
  ['2001::', 23], // protocol assignments, Teredo
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: any IPv4 address in disguise
  ['3fff::', 20], // documentation
  ['5f00::', 16], // segment routing
  ['fc00::', 7], // unique local; a cloud's metadata at fd00:ec2::254
  ['fe80::', 10], // link-local
  ['fec0::', 10], // site-local
  ['ff00::', 8], // multicast
];

/** Prefixes for translation from IPv6 to IPv4: an IPv4 address follows the prefix, and may be one of those above. */
const NAT64 = '64:ff9b::';
const NAT64_PREFIX = 96;

export const PRIVATE_ADDRESSES = new BlockList();
for (const [network, prefix] of IPV4) {
  // An IPv4 address written as IPv6 (::ffff:…) is matched by these, too.
  PRIVATE_ADDRESSES.addSubnet(network, prefix, 'ipv4');
  PRIVATE_ADDRESSES.addSubnet(NAT64 + network, NAT64_PREFIX + prefix, 'ipv6');
}
for (const [network, prefix] of IPV6) PRIVATE_ADDRESSES.addSubnet(network, prefix, 'ipv6');

/** Whether a URL shows by itself, without DNS, that it leads to such an address. */
export function isPrivateUrl(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const version = isIP(host);
  if (version === 0) return /(?:^|\.)localhost$/i.test(host);
  return PRIVATE_ADDRESSES.check(host, version === 4 ? 'ipv4' : 'ipv6');
}
