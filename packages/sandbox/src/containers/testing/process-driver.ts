/**
 * A driver whose containers are plain processes of this machine: the server inside, with nothing around it. Its
 * container-like parts are real: another process, reached over its stream, listed from notes on disk, and ended with
 * everything it started. So everything except a real container can be tested anywhere.
 *
 *   <dir>/<name>/container   its labels and its process
 *   <dir>/<name>/run         its socket, where workspaces live in the container
 *   <dir>/<name>/workspaces  those workspaces
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { descendantsOf, isAlive, kill, livingTokens } from '../../host/process-table.ts';
import { SYSTEM_PATH } from '../../host/system-path.ts';
import { ignoreMissing } from '../../workspace/files/workspace-path.ts';
import type { Owner } from '../../workspace/give-tree-to.ts';
import { removeTree } from '../../workspace/remove-tree.ts';
import type {
  ContainerDriver,
  ContainerRequest,
  DriverLimits,
  Examined,
  ListedContainer,
  Reached,
} from '../container-driver.ts';
import { reachSocket, SOCKET_NAME } from '../container-socket.ts';
import { reachByRelay } from '../relay/reach-by-relay.ts';
import type { ContainerServerConfig } from '../server/main.ts';
import { SERVER_PROGRAM } from '../server-program.ts';
import { bundledServer } from './bundled-server.ts';

const LOOK_EVERY_MS = 5;

interface Record {
  token: string;
  labels: ListedContainer['labels'];
}

export interface ProcessDriverOptions {
  /** A process of the driver itself, which outlives a killed server of ours. */
  dir: string;
  workspacesOn: ContainerDriver['workspaces']['on'];
  /** `relay`: over the input and output of one more process, which is all that some drivers can offer. */
  reachedBy?: 'socket' | 'relay' | undefined;
  noNesting?: string | undefined;
}

export class ProcessDriver implements ContainerDriver {
  readonly name = 'process';
  readonly title = 'Processes';
  readonly source = 'this machine';
  readonly workspaces: ContainerDriver['workspaces'];
  readonly workspacesDir = '/workspaces';
  readonly noNesting: string | undefined;
  readonly #dir: string;
  readonly #reachedBy: 'socket' | 'relay';
  readonly #printed = new Map<string, string>();
  /** The processes of the containers that this driver started. */
  readonly #children = new Map<string, ChildProcess>();

  constructor({ dir, workspacesOn, reachedBy = 'socket', noNesting }: ProcessDriverOptions) {
    this.#dir = dir;
    this.#reachedBy = reachedBy;
    this.noNesting = noNesting;
    this.workspaces = workspacesOn === 'host' ? { on: 'host', owner: ownUser() } : { on: 'container' };
  }

  async prepare(): Promise<DriverLimits> {
    await mkdir(this.#dir, { recursive: true });
    return {};
  }

  async start(request: ContainerRequest, _?: AbortSignal): Promise<string> {
    const { name, labels } = request;
    const { runDir, workspacesDir } = this.#placesOf(request);
    for (const dir of [this.#at(name), runDir, workspacesDir]) await mkdir(dir, { recursive: true });
    const config: ContainerServerConfig = {
      socketPath: SOCKET_NAME,
      backend: { ...request.backend, workspacesDir },
      multiplexed: this.#reachedBy === 'relay',
      version: SERVER_PROGRAM.version,
    };
    const child = await runProgram(runDir, ['ignore', 'pipe', 'pipe'], JSON.stringify(config));
    this.#children.set(name, child);
    this.#listen(name, child);
    const token = livingTokens().find((each) => each.startsWith(`${child.pid}-`)) ?? '0-0';
    await writeFile(this.#at(name, 'container'), JSON.stringify({ token, labels } satisfies Record));
    return name;
  }

  async reach(request: ContainerRequest, signal: AbortSignal): Promise<Reached> {
    const { runDir } = this.#placesOf(request);
    if (this.#reachedBy === 'socket') return reachSocket(runDir, signal);
    const { stdin, stdout } = await runProgram(runDir, ['pipe', 'pipe', 'inherit'], 'relay', SOCKET_NAME);
    if (!stdin || !stdout) throw new Error('the relay has no streams');
    return reachByRelay(Duplex.from({ readable: stdout, writable: stdin }), signal);
  }

  async ended(name: string, signal: AbortSignal): Promise<void> {
    // The backend waits here for every container for its whole life, so polling would take much time.
    const child = this.#children.get(name);
    if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
    while (isAlive((await this.#read(name))?.token ?? '0-0'))
      await delay(LOOK_EVERY_MS, undefined, { signal });
  }

  async examine(name: string): Promise<Examined> {
    if (!(await this.#read(name))) throw new Error(`there is no ${name}`);
    return { outOfMemory: false, printed: this.#printed.get(name) ?? '' };
  }

  async list(label: string, value: string): Promise<ListedContainer[]> {
    const names = (await ignoreMissing(readdir(this.#dir))) ?? [];
    const found = await Promise.all(
      names.map(async (name) => {
        const { labels = {}, token = '0-0' } = (await this.#read(name)) ?? {};
        return { name, labels, ended: !isAlive(token) };
      }),
    );
    return found.filter(({ labels }) => labels[label] === value);
  }

  async remove(name: string): Promise<void> {
    const record = await this.#read(name);
    if (record && isAlive(record.token)) {
      for (const pid of descendantsOf([Number.parseInt(record.token, 10)])) kill(pid);
      await this.ended(name, AbortSignal.timeout(10_000));
    }
    await removeTree(this.#at(name));
    this.#printed.delete(name);
    this.#children.delete(name);
  }

  /** For tests: ends the process without reporting it. */
  async crash(name: string): Promise<void> {
    kill(Number.parseInt((await this.#read(name))?.token ?? '', 10));
  }

  /** For tests: as a command inside could. */
  async signal(name: string, signal: NodeJS.Signals): Promise<void> {
    process.kill(Number.parseInt((await this.#read(name))?.token ?? '', 10), signal);
  }

  #placesOf({ name, directory }: ContainerRequest): { runDir: string; workspacesDir: string } {
    if (this.workspaces.on === 'host') return directory;
    return { runDir: this.#at(name, 'run'), workspacesDir: this.#at(name, 'workspaces') };
  }

  #at(name: string, ...more: string[]): string {
    return join(this.#dir, name, ...more);
  }

  #listen(name: string, { stdout, stderr }: ChildProcess): void {
    for (const stream of [stdout, stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed.set(name, (this.#printed.get(name) ?? '') + text);
      });
  }

  async #read(name: string): Promise<Record | undefined> {
    const text = await ignoreMissing(readFile(this.#at(name, 'container'), 'utf8'));
    return text ? (JSON.parse(text) as Record) : undefined;
  }
}

/** In the directory of the socket, whose path may have 107 bytes. */
async function runProgram(runDir: string, stdio: StdioOptions, ...args: string[]): Promise<ChildProcess> {
  return spawn(SERVER_PROGRAM.nodePath, [await bundledServer(), ...args], {
    cwd: runDir,
    env: { PATH: SYSTEM_PATH },
    stdio,
  });
}

function ownUser(): Owner {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}
