/** Runs processes of the fake's sandboxes: in new namespaces with the image's files at /talaria, or in those of another. */
import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const ENTER = fileURLToPath(new URL('enter-sandbox.sh', import.meta.url));
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', HOME: '/tmp' };
const AS_ROOT = process.getuid?.() === 0;

export interface NamespaceOptions {
  /** Its own; has the image's files in `image` and is the sandbox's root at `root`. */
  dir: string;
  network: boolean;
  /** Programs of this machine that it does not have. */
  without?: readonly string[];
}

/** Why sandboxes cannot be made here; undefined where they can. */
export function whyNoNamespaces(): string | undefined {
  const flags = [...namespaces({ network: false }), 'true'];
  const { error, status, stderr } = spawnSync('unshare', flags, { encoding: 'utf8' });
  if (error) return 'unshare is missing';
  return status === 0 ? undefined : stderr.trim();
}

/** Resolves when the command is about to run, in namespaces of its own. */
export async function startInNamespaces(
  command: readonly string[],
  { dir, network, without = [] }: NamespaceOptions,
): Promise<ChildProcess> {
  const root = join(dir, 'root');
  await mkdir(root, { recursive: true });
  const script = ['sh', ENTER, root, join(dir, 'image'), ...command];
  const child = spawn('unshare', [...namespaces({ network }), ...script], {
    env: { ...ENVIRONMENT, WITHOUT: without.join(' ') },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const ready = child.stdio[3] as Readable;
  await new Promise<void>((resolve) => ready.once('data', () => resolve()).once('close', () => resolve()));
  return child;
}

/** The first process in the namespaces of one that was started there, as this machine numbers it. */
export async function firstProcessOf({ pid }: ChildProcess): Promise<number | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const first = Number.parseInt(children, 10);
  return Number.isNaN(first) ? undefined : first;
}

export function runInNamespacesOf(
  pid: number,
  command: readonly string[],
  stdio: StdioOptions,
): ChildProcess {
  const user = AS_ROOT ? [] : ['--user', '--preserve-credentials'];
  const entered = ['--mount', '--pid', '--net', '--ipc', '--uts', ...user];
  return spawn(
    'nsenter',
    ['--target', `${pid}`, ...entered, 'sh', '-c', 'cd /; exec "$@"', 'sh', ...command],
    {
      env: ENVIRONMENT,
      stdio,
    },
  );
}

function namespaces({ network }: Pick<NamespaceOptions, 'network'>): string[] {
  const user = AS_ROOT ? [] : ['--map-root-user'];
  const net = network ? [] : ['--net'];
  return [...user, '--mount', '--pid', ...net, '--ipc', '--uts', '--fork', '--kill-child'];
}
