/**
 * A network that commands of one slot share: a loopback and nothing else, so that what one serves in the background the
 * next can reach, and nobody else.
 *
 * An open descriptor keeps a namespace alive, so nothing has to run for it: a helper makes the namespaces, the server
 * opens them, the helper ends. Commands enter with nsenter and then make all their other namespaces as ever, the last of
 * them a user namespace below the one that owns the network: they have no rights over it. When the descriptors are
 * closed, by the release of the slot or by the death of the server, and no command is left, it is gone.
 *
 * The descriptors stay the server's: nsenter opens them by their place in /proc, and a command inherits nothing.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { findProgram, SYSTEM_PATH } from '../../host/system-path.ts';
import { withoutInherited } from '../process/inherited.ts';

const run = promisify(execFile);

/** What a helper does once it is inside: it tells its pid and waits to be let go. */
export const HELPER_SCRIPT = 'echo $$; read -r _';
const PATIENCE_MS = 10_000;

export interface NetworkMaker {
  /** A command line that runs HELPER_SCRIPT in a new network namespace, as root of the user namespace it belongs to. */
  helper: readonly string[];
  /** What has to be entered: a user namespace only where the helper has made one. */
  namespaces: readonly Namespace[];
  /** A command line that makes the other namespaces, to see that it can from inside. */
  trial: readonly string[];
}

type Namespace = 'user' | 'net';
type OpenNamespace = { name: Namespace; fd: number };

export class SlotNetwork {
  /** Words to put before a command line. */
  readonly entry: readonly string[];
  readonly #descriptors: readonly number[];

  /** Rejects with the reason where commands cannot share a network. */
  static async open({ helper, namespaces, trial }: NetworkMaker): Promise<SlotNetwork> {
    for (const program of ['nsenter', 'setpriv']) {
      if (!(await findProgram(program))) throw new Error(`${program} is not installed`);
    }
    const network = new SlotNetwork(await openNamespaces(helper, namespaces));
    try {
      const [program, ...args] = [...network.entry, ...trial];
      await run(program as string, args, { env: { PATH: SYSTEM_PATH }, timeout: PATIENCE_MS });
      return network;
    } catch (error) {
      network.close();
      throw error;
    }
  }

  private constructor(namespaces: readonly OpenNamespace[]) {
    this.#descriptors = namespaces.map(({ fd }) => fd);
    this.entry = [
      // A server that dies in this moment takes nsenter along; what nsenter becomes sees to itself.
      ...['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', 'nsenter', '--preserve-credentials'],
      ...namespaces.map(({ name, fd }) => `--${name}=/proc/${process.pid}/fd/${fd}`),
      '--',
    ];
  }

  close(): void {
    for (const fd of this.#descriptors) closeSync(fd);
  }
}

async function openNamespaces(
  helper: readonly string[],
  names: readonly Namespace[],
): Promise<OpenNamespace[]> {
  const [program, ...args] = helper;
  const child = spawn(program as string, args, {
    cwd: '/',
    env: { PATH: SYSTEM_PATH },
    stdio: withoutInherited(['pipe', 'pipe', 'pipe']),
    timeout: PATIENCE_MS,
    killSignal: 'SIGKILL',
  });
  const exited = once(child, 'exit');
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    complaint += part;
  });
  try {
    const said = child.stdout && once(child.stdout.setEncoding('utf8'), 'data');
    const pid = await Promise.race([said?.then(([line]) => Number(line)), exited.then(() => undefined)]);
    if (!pid) throw new Error(complaint.trim() || 'the namespaces could not be made');
    return openAll(`/proc/${pid}/ns`, names);
  } finally {
    child.stdin?.destroy();
    await exited.catch(() => {});
  }
}

function openAll(dir: string, names: readonly Namespace[]): OpenNamespace[] {
  const opened: OpenNamespace[] = [];
  try {
    for (const name of names) opened.push({ name, fd: openSync(`${dir}/${name}`, 'r') });
    return opened;
  } catch (error) {
    for (const { fd } of opened) closeSync(fd);
    throw error;
  }
}
