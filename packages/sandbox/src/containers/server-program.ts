/** The program inside a container as it lies on this machine: this package, its entry in it, and the Node that runs it. */
import { readFileSync, realpathSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = new URL('../..', import.meta.url);
/** Beside this file, in the form this file has: TypeScript here, JavaScript once it was built. */
const ENTRY = new URL(`./server/main${extname(import.meta.url)}`, import.meta.url);

export const SERVER_PROGRAM = {
  packageDir: fileURLToPath(PACKAGE),
  /** Relative to the package. */
  entry: ENTRY.pathname.slice(PACKAGE.pathname.length),
  nodePath: realpathSync(process.execPath),
  version: JSON.parse(readFileSync(new URL('package.json', PACKAGE), 'utf8')).version as string,
};
