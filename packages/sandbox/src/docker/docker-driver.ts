/** Containers of a Docker daemon on this machine, which mounts the server's program and the container's directory. */
import type {
  ContainerDriver,
  ContainerRequest,
  DriverLimits,
  Examined,
  ListedContainer,
  Reached,
} from '../containers/container-driver.ts';
import { reachSocket } from '../containers/container-socket.ts';
import type { LimitName } from '../limits.ts';
import type { Owner } from '../workspace/workspaces.ts';
import { checkDaemon } from './check-daemon.ts';
import { containerSpec, INSIDE, SERVER_KILLED } from './container-spec.ts';
import type { DaemonInfo, DockerApi } from './docker-api.ts';

/** By what the daemon says that the kernel can do it. */
const BY_CONTAINER = {
  memoryBytes: 'MemoryLimit',
  processes: 'PidsLimit',
  cpus: 'CpuCfsQuota',
} as const satisfies Partial<Record<LimitName, keyof DaemonInfo>>;
const NO_GROUP = 'Docker says that this kernel has no control group for it; see docker info';

/** Nobody's on every system we know of: below it are accounts, above it the number that stands for nobody. */
const SANDBOX_USER: Owner = { uid: 65_533, gid: 65_533 };

export class DockerDriver implements ContainerDriver {
  readonly name = 'docker';
  readonly title = 'Docker';
  readonly source: string;
  readonly workspaces = { on: 'host', owner: containerUser() } as const;
  readonly workspacesDir = INSIDE.workspaces;
  readonly #api: DockerApi;
  readonly #image: string;
  #daemon: DaemonInfo | undefined;

  constructor(api: DockerApi, image: string) {
    this.#api = api;
    this.#image = image;
    this.source = `the image ${image}`;
  }

  async prepare(): Promise<DriverLimits> {
    const daemon = await checkDaemon(this.#api, this.#image);
    this.#daemon = daemon;
    return limitsOf(daemon);
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    if (!this.#daemon) throw new Error('the driver is not prepared');
    const { owner: user } = this.workspaces;
    const spec = containerSpec({ ...request, image: this.#image, user, daemon: this.#daemon });
    // Not given up half-way: the daemon might go on with it, and nobody would know of what it made.
    const id = await this.#api.createContainer(request.name, spec);
    signal.throwIfAborted();
    await this.#api.startContainer(id, signal);
    return id;
  }

  reach({ directory }: ContainerRequest, signal: AbortSignal): Promise<Reached> {
    return reachSocket(directory.runDir, signal);
  }

  ended(name: string, signal: AbortSignal): Promise<void> {
    return this.#api.waitForExit(name, signal);
  }

  async examine(name: string): Promise<Examined> {
    const { OOMKilled, ExitCode } = await this.#api.inspectContainer(name);
    const printed = await this.#api.containerLog(name).catch(() => '');
    return { outOfMemory: OOMKilled && ExitCode === SERVER_KILLED, printed };
  }

  async list(label: string, value: string): Promise<ListedContainer[]> {
    const found = await this.#api.listContainers(`${label}=${value}`);
    // The daemon puts a slash before a name.
    return found.map(({ Id, Names, Labels }) => ({ name: Names[0]?.slice(1) ?? Id, labels: Labels }));
  }

  remove(name: string): Promise<void> {
    return this.#api.removeContainer(name);
  }
}

export function limitsOf(daemon: DaemonInfo): DriverLimits {
  const entries = Object.entries(BY_CONTAINER).map(([limit, flag]) => [limit, daemon[flag] || NO_GROUP]);
  return Object.fromEntries(entries);
}

/** The server's own user, so that it can read what commands wrote; unless that is root, which no command may be. */
function containerUser(): Owner {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  return uid === 0 ? SANDBOX_USER : { uid, gid };
}
