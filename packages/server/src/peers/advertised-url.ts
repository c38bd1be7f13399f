/**
 * Where other servers reach this one, unless the settings say it: at the address it listens on, or, if that is every
 * address of the machine, at the first one that others can use. In a container that is the container's own.
 */
import { hostname, networkInterfaces } from 'node:os';

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export interface Listening {
  /** As it was configured. */
  host: string;
  port: number;
  interfaces?: ReturnType<typeof networkInterfaces>;
}

export function advertisedUrl({ host, port, interfaces = networkInterfaces() }: Listening): string {
  const name = EVERY_ADDRESS.has(host) ? (outsideAddress(interfaces) ?? hostname()) : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** IPv4 if there is one: a server on 0.0.0.0 has no other. */
function outsideAddress(interfaces: NonNullable<Listening['interfaces']>): string | undefined {
  const outside = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    // A link-local address means nothing without the interface, which only this machine knows.
    .filter(({ internal, address }) => !internal && !/^(fe80:|169\.254\.)/i.test(address));
  return (outside.find(({ family }) => family === 'IPv4') ?? outside[0])?.address;
}
