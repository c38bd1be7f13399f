/**
 * A network that commands of one slot share: a loopback and nothing else, so that what one serves in the background the
 * next can reach, and nobody else.
 *
 * An open descriptor keeps a namespace alive, so nothing has to run for it: a helper makes the namespaces, the server
 * opens them, the helper ends. Commands enter with nsenter and then make all their other namespaces as ever, among
 * them a user namespace below the one that owns the network: they have no rights over it. When the descriptors are
 * closed, by the release of the slot or by the death of the server, and no command is left, it is gone.
 *
 * The descriptors stay the server's: nsenter opens them by their place in /proc, and a command inherits nothing.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { withoutInherited } from '../process/inherited.ts';
import { findProgram, SYSTEM_PATH } from '../system-path.ts';

const run = promisify(execFile);

/** What a helper does once it is inside: it tells its pid and waits to be let go. */
export const HELPER_SCRIPT = 'echo $$; read -r _';
const PATIENCE_MS = 10_000;

export interface NetworkMaker {
  /** A command line that runs HELPER_SCRIPT in new user and network namespaces, as root of the first. */
  helper: readonly string[];
  /** A command line that makes the other namespaces, to see that it can from inside. */
  trial: readonly string[];
}

/** Descriptors. */
interface Namespaces {
  user: number;
  net: number;
}

export class SlotNetwork {
  /** Words to put before a command line. */
  readonly entry: readonly string[];
  readonly #descriptors: readonly number[];

  /** Rejects with the reason where commands cannot share a network. */
  static async open({ helper, trial }: NetworkMaker): Promise<SlotNetwork> {
    for (const program of ['nsenter', 'setpriv']) {
      if (!(await findProgram(program))) throw new Error(`${program} is not installed`);
    }
    const network = new SlotNetwork(await openNamespaces(helper));
    try {
      const [program, ...args] = [...network.entry, ...trial];
      await run(program as string, args, { env: { PATH: SYSTEM_PATH }, timeout: PATIENCE_MS });
      return network;
    } catch (error) {
      network.close();
      throw error;
    }
  }

  private constructor({ user, net }: Namespaces) {
    const place = (fd: number) => `/proc/${process.pid}/fd/${fd}`;
    this.#descriptors = [user, net];
    this.entry = [
      // A server that dies in this moment takes nsenter along; what nsenter becomes sees to itself.
      ...['setpriv', '--pdeathsig', 'KILL', 'nsenter', '--preserve-credentials'],
      ...[`--user=${place(user)}`, `--net=${place(net)}`, '--'],
    ];
  }

  close(): void {
    for (const fd of this.#descriptors) closeSync(fd);
  }
}

async function openNamespaces(helper: readonly string[]): Promise<Namespaces> {
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
    return openBoth(`/proc/${pid}/ns`);
  } finally {
    child.stdin?.destroy();
    await exited.catch(() => {});
  }
}

function openBoth(dir: string): Namespaces {
  const user = openSync(`${dir}/user`, 'r');
  try {
    return { user, net: openSync(`${dir}/net`, 'r') };
  } catch (error) {
    closeSync(user);
    throw error;
  }
}
