/**
 * How a program is started so that it ends with this process, however that ends: `setpriv` asks the kernel for it.
 * Where it is missing, or is one that cannot, a program has its closed standard input to go by.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const PLACES = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv'];

let found: Promise<readonly string[]> | undefined;

/** What to put before a program and its arguments. Tried out once. */
export function dyingWithUs(): Promise<readonly string[]> {
  found ??= tryOut();
  return found;
}

async function tryOut(): Promise<readonly string[]> {
  const setpriv = PLACES.find((path) => existsSync(path));
  if (setpriv === undefined) return [];
  const prefix = [setpriv, '--pdeathsig', 'KILL', '--'];
  try {
    await promisify(execFile)(setpriv, [...prefix.slice(1), setpriv, '--version']);
    return prefix;
  } catch {
    return [];
  }
}
