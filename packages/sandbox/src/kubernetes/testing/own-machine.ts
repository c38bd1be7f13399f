/**
 * A machine of its own for a cluster, as far as its programs can tell: a network, processes and mounts apart from those of the
 * real one. Whatever was started in it ends with it, and it ends with the test process, however that ends.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * A kubelet sets these for the whole machine, unless they are so already. Here it finds files that say so.
 */
const KERNEL_SETTINGS = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};
const LOG_BYTES = 8_000;

export class OwnMachine implements AsyncDisposable {
  /** The address for the rest of this machine. It is not a loopback address: the API server refuses nodes with one. */
  readonly address: string;
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess, address: string) {
    this.#holder = holder;
    this.address = address;
  }

  /** `dir` is for its files; `hidden` are directories of the real machine that are empty in it. */
  static async start(dir: string, hidden: readonly string[]): Promise<OwnMachine> {
    const lines = ['set -e', 'ip link set lo up'];
    for (const [name, value] of Object.entries(KERNEL_SETTINGS)) {
      const path = join(dir, `sysctl-${name.replaceAll('/', '-')}`);
      await writeFile(path, value);
      lines.push(`mount --bind ${path} /proc/sys/${name}`);
    }
    for (const path of hidden) {
      await mkdir(path, { recursive: true });
      lines.push(`mount -t tmpfs tmpfs ${path}`);
    }
    lines.push('echo ready', 'exec sleep infinity');
    const apart = ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const holder = spawn('setpriv', ['--pdeathsig', 'KILL', ...apart, 'sh', '-c', lines.join('\n')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await Promise.race([once(holder.stdout as NonNullable<typeof holder.stdout>, 'data'), failed(holder)]);
    const pid = await firstChild(holder);
    const machine = new OwnMachine(holder, await connectNetworks(pid));
    return machine;
  }

  /** A program in it; killing what is returned kills it. */
  async spawn(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Running> {
    const child = spawn(
      'nsenter',
      [...(await this.#enter()), 'setpriv', '--pdeathsig', 'KILL', program, ...args],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, HOME: '/root', ...env } },
    );
    return new Running(program, child);
  }

  async run(program: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run('nsenter', [...(await this.#enter()), program, ...args]);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const exited = once(this.#holder, 'exit');
    this.#holder.kill('SIGKILL');
    await exited;
  }

  async #enter(): Promise<string[]> {
    return ['--target', String(await firstChild(this.#holder)), '--net', '--mount', '--pid', '--'];
  }
}

export class Running {
  readonly #program: string;
  readonly #child: ChildProcess;
  #log = '';

  constructor(program: string, child: ChildProcess) {
    this.#program = program;
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-LOG_BYTES);
      });
  }

  get log(): string {
    return `${this.#program}:\n${this.#log}`;
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async kill(): Promise<void> {
    if (this.ended) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** A cable between the two, with an address at either end. */
async function connectNetworks(pid: number): Promise<string> {
  const name = `talaria${pid}`.slice(0, 15);
  await run('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
  const subnet = `10.${200 + (pid % 50)}.${(pid >> 6) % 256}`;
  await run('ip', ['addr', 'add', `${subnet}.1/30`, 'dev', name]);
  await run('ip', ['link', 'set', name, 'up']);
  const inside = ['--target', String(pid), '--net', '--', 'ip'];
  await run('nsenter', [...inside, 'addr', 'add', `${subnet}.2/30`, 'dev', 'eth0']);
  await run('nsenter', [...inside, 'link', 'set', 'eth0', 'up']);
  // A kubelet chooses the address of its node by its default route.
  await run('nsenter', [...inside, 'route', 'add', 'default', 'via', `${subnet}.1`]);
  return `${subnet}.2`;
}

async function firstChild({ pid }: ChildProcess): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)]);
  return Number(stdout.trim().split('\n')[0]);
}

async function failed(child: ChildProcess): Promise<never> {
  await once(child, 'exit');
  throw new Error('namespaces for a cluster could not be made');
}
