/**
 * Starts a program so that it ends with this process, however that ends: `setpriv` asks the kernel for it. If setpriv
 * is missing or cannot do that, a program only notices that its standard input is closed.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const PLACES = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv'];

let found: Promise<readonly string[]> | undefined;

/** The words to put before a program and its arguments; none if setpriv cannot help. The first call tries it out. */
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
