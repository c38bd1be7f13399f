/** Containers of a Docker daemon on this machine, which mounts the server's program and the container's directory. */
import { SANDBOX_USER } from '../containers/allowances.ts';
import type {
  ContainerDriver,
  ContainerRequest,
  DriverLimits,
  Examined,
  ListedContainer,
  Reached,
} from '../containers/container-driver.ts';
import { reachSocket } from '../containers/container-socket.ts';
import { SERVER_KILLED } from '../containers/first-process.ts';
import type { LimitName } from '../limits.ts';
import type { Owner } from '../workspace/give-tree-to.ts';
import { checkDaemon, type Wanted } from './check-daemon.ts';
import { type ContainerPlan, containerSpec, INSIDE } from './container-spec.ts';
import type { DaemonInfo, DockerApi } from './docker-api.ts';
import { tryRuntime } from './runtime-trial.ts';

/** Whether the kernel supports it, according to the daemon. */
const BY_CONTAINER = {
  memoryBytes: 'MemoryLimit',
  processes: 'PidsLimit',
  cpus: 'CpuCfsQuota',
} as const satisfies Partial<Record<LimitName, keyof DaemonInfo>>;
const NO_GROUP = 'Docker says that this kernel has no control group for it; see docker info';

/** Docker's own runtimes: its daemon reports what they enforce. Any other is tried out. */
const KNOWN_RUNTIMES = ['runc', 'io.containerd.runc.v2'];

type Prepared = Pick<ContainerPlan, 'daemon' | 'runtime'>;

export class DockerDriver implements ContainerDriver {
  readonly name = 'docker';
  readonly title: string;
  readonly source: string;
  readonly workspaces = { on: 'host', owner: containerUser() } as const;
  readonly workspacesDir = INSIDE.workspaces;
  readonly #api: DockerApi;
  readonly #image: string;
  readonly #runtime: string | undefined;
  #prepared: Prepared | undefined;

  constructor(api: DockerApi, { image, runtime }: Wanted) {
    this.#api = api;
    this.#image = image;
    this.#runtime = runtime;
    this.title = runtime === undefined ? 'Docker' : `Docker with the runtime ${runtime}`;
    this.source = `the image ${image}`;
  }

  async prepare(): Promise<DriverLimits> {
    const [api, image, name] = [this.#api, this.#image, this.#runtime];
    const daemon = await checkDaemon(api, { image, runtime: name });
    const limits = limitsOf(daemon);
    if (KNOWN_RUNTIMES.includes(name ?? daemon.DefaultRuntime ?? 'runc')) {
      this.#prepared = { daemon, runtime: { name, ownKernel: false } };
      return limits;
    }
    const tried = await tryRuntime({ api, image, user: this.workspaces.owner, runtime: name });
    this.#prepared = { daemon, runtime: tried.runtime };
    return { ...limits, ...failures(tried.limits) };
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    if (!this.#prepared) throw new Error('the driver is not prepared');
    const { owner: user } = this.workspaces;
    const spec = containerSpec({ ...request, ...this.#prepared, image: this.#image, user });
    // Not aborted: the daemon might continue and leave a container that we do not know.
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
    // Out of memory, a kernel of its own ends as a whole. On the machine's kernel it may have ended a command long before.
    const lastKilled = this.#prepared?.runtime.ownKernel || ExitCode === SERVER_KILLED;
    return { outOfMemory: OOMKilled && lastKilled, printed };
  }

  async list(label: string, value: string): Promise<ListedContainer[]> {
    const found = await this.#api.listContainers(`${label}=${value}`);
    // The daemon puts a slash before a name.
    return found.map(({ Id, Names, Labels, State }) => ({
      name: Names[0]?.slice(1) ?? Id,
      labels: Labels,
      ended: State === 'exited' || State === 'dead',
    }));
  }

  remove(name: string): Promise<void> {
    return this.#api.removeContainer(name);
  }
}

export function limitsOf(daemon: DaemonInfo): DriverLimits {
  const entries = Object.entries(BY_CONTAINER).map(([limit, flag]) => [limit, daemon[flag] || NO_GROUP]);
  return Object.fromEntries(entries);
}

function failures(limits: DriverLimits): DriverLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, held]) => held !== true));
}

/**
 * The server's own user, so that it can read what commands wrote; if that is root, another one, because no command may
 * be root.
 */
function containerUser(): Owner {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  return uid === 0 ? SANDBOX_USER : { uid, gid };
}
