/**
 * A network that the commands of one slot share: a loopback and nothing else, so that one command can reach what
 * another serves in the background, and nobody else can.
 *
 * An open descriptor keeps a namespace alive, so no process has to run for it: a helper creates the namespaces, the
 * server opens them, the helper ends. Commands enter with nsenter and then create all their other namespaces as usual,
 * the last of them a user namespace below the one that owns the network: they have no rights over it. It is gone when
 * the descriptors are closed, by the release of the slot or the death of the server, and no command is left.
 *
 * The server keeps the descriptors: nsenter opens them by their path in /proc, and a command inherits nothing.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { findProgram, SYSTEM_PATH } from '../../host/system-path.ts';
import { withoutInherited } from '../process/inherited.ts';

const run = promisify(execFile);

/** The script of a helper: it prints its pid and waits until it may end. */
export const HELPER_SCRIPT = 'echo $$; read -r _';
const PATIENCE_MS = 10_000;

export interface NetworkMaker {
  /** A command line that runs HELPER_SCRIPT in a new network namespace, as root of the user namespace it belongs to. */
  helper: readonly string[];
  /** The namespaces to enter: a user namespace only if the helper has created one. */
  namespaces: readonly Namespace[];
  /** A command line that creates the other namespaces, to check that it works from inside. */
  trial: readonly string[];
}

type Namespace = 'user' | 'net';
type OpenNamespace = { name: Namespace; fd: number };

export class SlotNetwork {
  /** Words to put before a command line. */
  readonly entry: readonly string[];
  readonly #descriptors: readonly number[];

  /** Rejects with the reason if commands cannot share a network. */
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
      // A server that dies at this moment takes nsenter with it; the program that nsenter becomes handles its own end.
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
