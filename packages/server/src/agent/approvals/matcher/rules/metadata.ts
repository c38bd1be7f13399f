/**
 * The addresses under which clouds hand credentials to any program that asks.
 * Addresses are compared as numbers, because `curl 0xA9FEA9FE` and `curl 2852039166` reach the same host.
 */
const NAMES = /^(?:metadata(?:\.google)?\.internal|metadata\.goog|instance-data(?:\.ec2\.internal)?)$/;
const ADDRESSES = new Set([
  address(169, 254, 169, 254),
  address(169, 254, 170, 2),
  address(100, 100, 100, 200),
  address(192, 0, 0, 192),
]);
const V6 = /fd00:ec2:(?:0*:)*:?254|::ffff:(?:0:)?(?:a9fe:a9fe|169\.254\.169\.254)|fd20:ce::254/i;
const CANDIDATE = /[A-Za-z0-9.-]{6,64}/g;
// Longer arguments are documents; a host in them is found in the first part or is text.
const MAX_SCAN = 100_000;

export function namesMetadata(text: string): boolean {
  if (text.length < 8) return false; // shorter than any of them
  const part = text.length > MAX_SCAN ? text.slice(0, MAX_SCAN) : text;
  if (V6.test(part)) return true;
  for (const [candidate] of part.matchAll(CANDIDATE)) {
    const host = candidate.replace(/\.$/, '').toLowerCase();
    if (NAMES.test(host) || (/^[0-9]/.test(host) && ADDRESSES.has(numericHost(host) ?? -1))) return true;
  }
  return false;
}

function address(a: number, b: number, c: number, d: number): number {
  return ((a * 256 + b) * 256 + c) * 256 + d;
}

/** The number an IPv4 host stands for in any of the spellings inet_aton accepts. */
function numericHost(host: string): number | undefined {
  const parts = host.split('.');
  if (parts.length > 4) return undefined;
  let value = 0;
  for (const [i, part] of parts.entries()) {
    if (!/^(?:0x[0-9a-f]+|\d+)$/.test(part)) return undefined;
    const number = /^0\d/.test(part) ? Number.parseInt(part, 8) : Number(part);
    const last = i === parts.length - 1;
    value = last ? value * 256 ** (4 - i) + number : value * 256 + number;
  }
  return value;
}
