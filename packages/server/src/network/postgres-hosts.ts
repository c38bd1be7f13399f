/** The address of a Postgres may name several hosts, as libpq's do: `postgres://user@a:5432,b:5432/name`. */

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;

/** The same address for each host alone, in order. */
export function eachHost(address: string): string[] {
  const [, before = '', hosts = '', after = ''] = PARTS.exec(address) ?? [];
  if (!hosts.includes(',')) return [address];
  return hosts.split(',').map((host) => `${before}${host}${after}`);
}
