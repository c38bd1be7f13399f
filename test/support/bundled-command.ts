/**
 * The command as most tests start it: the source of this repository, bundled into few files, with their compiled code.
 * From source a server loads a thousand modules; from here it takes half the processor time to start, and the tests start
 * hundreds. `test/installed` and `packages/server/src/cli/bin.test.ts` start the command as users do.
 *
 * The first test that needs the bundle makes it, and the others wait. Every state of the source has its own bundle, so
 * a test never starts outdated code.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type FileLock, lockFile } from '../../packages/server/src/files/file-lock.ts';
import { waitFor } from './wait-for.ts';

const run = promisify(execFile);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUNDLER = 'test/support/bundle-command.ts';
const HOST = 'test/support/server-host-program.ts';
const BUNDLES = join(ROOT, 'node_modules/.cache/command');
/** Present in a complete bundle. */
const READY = 'ready';
/** A bundle that no test has started for this long is removed. */
const UNUSED_MS = 60 * 60_000;
const LOCK_LIMIT_MS = 100_000;

/**
 * For Node, before the program. A start makes more garbage than fits into the memory that V8 begins with, and most of it
 * is still in use: collecting it takes a tenth of the processor time of a start.
 */
export const NODE_FLAGS: readonly string[] = ['--min-semi-space-size=16'];

export interface Command {
  /** The program for Node. */
  path: string;
  /** The program of server-host-program.ts. */
  hostPath: string;
  /** The value of NODE_COMPILE_CACHE for it. */
  compileCache: string;
}

let found: Promise<Command> | undefined;

export function bundledCommand(): Promise<Command> {
  found ??= findOrMake(join(BUNDLES, stateOfSource()));
  return found;
}

async function findOrMake(directory: string): Promise<Command> {
  const command = {
    path: join(directory, 'talaria.js'),
    hostPath: join(directory, 'server-host-program.js'),
    compileCache: join(directory, 'compiled'),
  };
  if (!isReady(directory)) await makeOnce(directory, command);
  const now = new Date();
  utimesSync(directory, now, now);
  return command;
}

function isReady(directory: string): boolean {
  return existsSync(join(directory, READY));
}

/** Changes with every file of the bundle. */
function stateOfSource(): string {
  const hash = createHash('sha256');
  const files = globSync('packages/*/{package.json,bin/*,src/**/*.ts}', {
    cwd: ROOT,
    exclude: ['**/*.{test,contract}.ts'],
  });
  for (const file of [BUNDLER, HOST, 'package-lock.json', ...files.sort()]) {
    const { mtimeMs, size } = statSync(join(ROOT, file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

async function makeOnce(directory: string, command: Command): Promise<void> {
  mkdirSync(BUNDLES, { recursive: true });
  const lock = await waitFor('the bundle that another process makes', tryLock, LOCK_LIMIT_MS);
  try {
    if (isReady(directory)) return;
    removeUnused();
    rmSync(directory, { recursive: true, force: true });
    // In a process of its own: the bundler takes half a gigabyte, and every process that a large one starts costs twenty
    // times as much, because the kernel copies its page tables.
    await run(process.execPath, [join(ROOT, BUNDLER), ROOT, directory, command.path, command.compileCache]);
    writeFileSync(join(directory, READY), '');
  } finally {
    lock.release();
  }
}

function tryLock(): FileLock | undefined {
  try {
    return lockFile(join(BUNDLES, 'lock'), 'in use');
  } catch {
    return undefined;
  }
}

function removeUnused(): void {
  for (const entry of readdirSync(BUNDLES, { withFileTypes: true })) {
    const path = join(BUNDLES, entry.name);
    if (!entry.isDirectory() || statSync(path).mtimeMs > Date.now() - UNUSED_MS) continue;
    rmSync(path, { recursive: true, force: true });
  }
}
