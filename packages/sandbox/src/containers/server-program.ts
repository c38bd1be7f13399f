/**
 * The program inside a container, as it is on this machine: this package, its entry file, and the Node that runs it.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = new URL('../..', import.meta.url);
/** Beside this file, with the same ending: TypeScript here, JavaScript after a build. */
const ENTRY = new URL(`./server/main${extname(import.meta.url)}`, import.meta.url);
const THREAD = new URL(`../workspace/thread/file-thread-program${extname(import.meta.url)}`, import.meta.url);

export const SERVER_PROGRAM = {
  packageDir: fileURLToPath(PACKAGE),
  /** Relative to the package. */
  entry: ENTRY.pathname.slice(PACKAGE.pathname.length),
  /** Threads that it starts by their names, relative to the package. */
  threads: [THREAD.pathname.slice(PACKAGE.pathname.length)],
  nodePath: realpathSync(process.execPath),
  /** Read only when it is needed: a server bundled into one file has no package. */
  get version(): string {
    return JSON.parse(readFileSync(new URL('package.json', PACKAGE), 'utf8')).version;
  },
};
