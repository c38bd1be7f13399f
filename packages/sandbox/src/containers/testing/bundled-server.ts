/**
 * The program inside a container, as the containers of tests start it: the source of this package, bundled into few files,
 * with their compiled code. From source a container takes almost twice the processor time, and the tests start hundreds.
 * image/image-context.test.ts and the tests of Docker start the program as it is.
 *
 * The first test that needs the bundle makes it. Every state of the source has its own, so no test starts outdated code.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SERVER_PROGRAM } from '../server-program.ts';

const run = promisify(execFile);

const BUNDLER = fileURLToPath(new URL('bundle-server.ts', import.meta.url));
const BUNDLES = fileURLToPath(
  new URL('../../../../../node_modules/.cache/container-server', import.meta.url),
);
/** A bundle that no test has started for this long is removed. */
const UNUSED_MS = 60 * 60_000;

let found: Promise<string> | undefined;

/** The file that Node has to run. */
export function bundledServer(): Promise<string> {
  found ??= findOrMake(join(BUNDLES, stateOfSource()));
  return found;
}

async function findOrMake(directory: string): Promise<string> {
  if (!existsSync(directory)) await make(directory);
  const now = new Date();
  utimesSync(directory, now, now);
  return join(directory, 'src/containers/start.js');
}

/** Changes with every file of the bundle. */
function stateOfSource(): string {
  const hash = createHash('sha256');
  const cwd = SERVER_PROGRAM.packageDir;
  for (const file of globSync('{package.json,src/**/*.ts}', { cwd }).sort()) {
    const { mtimeMs, size } = statSync(join(cwd, file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

async function make(directory: string): Promise<void> {
  // In a process of its own: the bundler takes much memory, and every process that a large one starts costs more.
  await run(process.execPath, [BUNDLER, SERVER_PROGRAM.packageDir, directory]);
  removeUnused();
}

function removeUnused(): void {
  for (const name of readdirSync(BUNDLES)) {
    const path = join(BUNDLES, name);
    const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs < Date.now() - UNUSED_MS) rmSync(path, { recursive: true, force: true });
  }
}
