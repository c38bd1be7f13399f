/**
 * Docker's HTTP API, as far as it is needed to run containers. Every call ends in bounded time. An unreachable daemon
 * is a `SandboxError` with the code `backend_down` that says what to do; a refusal of the daemon is a `DockerRefusal`
 * with the daemon's message.
 */
import { type IncomingMessage, request } from 'node:http';
import { SandboxError } from '../errors.ts';
import { readBody } from '../http/read-body.ts';
import { type DockerEndpoint, parseDockerHost } from './docker-host.ts';
import { plainLog } from './log-frames.ts';

/**
 * The version of Docker 20.10, which has everything used here. With a daemon that has dropped it, its oldest version is
 * used.
 */
const API_VERSION = '1.41';
const QUICK_MS = 10_000;
/** On a busy machine the storage and the kernel take their time. */
const SLOW_MS = 60_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const LOG_LINES = 40;

export class DockerRefusal extends SandboxError {
  readonly status: number;

  constructor(status: number, message: string) {
    super('backend_down', `Docker refused: ${message}`);
    this.status = status;
  }
}

export interface DaemonInfo {
  NCPU: number;
  SecurityOptions?: string[];
  MemoryLimit?: boolean;
  SwapLimit?: boolean;
  PidsLimit?: boolean;
  CpuCfsQuota?: boolean;
  ServerVersion?: string;
  /** The runtimes that the daemon's configuration names. */
  Runtimes?: Record<string, unknown>;
  DefaultRuntime?: string;
}

export interface ContainerSummary {
  Id: string;
  Names: string[];
  Labels: Record<string, string>;
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited` or `dead`. */
  State: string;
}

export interface ContainerState {
  Running: boolean;
  OOMKilled: boolean;
  ExitCode: number;
}

interface CallOptions {
  query?: Record<string, string>;
  body?: object;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Called when the answer begins. */
  onAnswer?: () => void;
}

interface Answer {
  status: number;
  body: Buffer;
}

export class DockerApi {
  readonly #host: string;
  readonly #endpoint: DockerEndpoint;
  #prefix: string | undefined;

  constructor(host: string) {
    this.#host = host;
    this.#endpoint = parseDockerHost(host);
  }

  info(): Promise<DaemonInfo> {
    return this.#json('GET', '/info');
  }

  async hasImage(name: string): Promise<boolean> {
    const { status, body } = await this.#versioned('GET', `/images/${encodeURIComponent(name)}/json`);
    if (status === 404) return false;
    accept({ status, body });
    return true;
  }

  async createContainer(name: string, spec: object): Promise<string> {
    const options = { query: { name }, body: spec, timeoutMs: SLOW_MS };
    const { Id } = await this.#json<{ Id: string }>('POST', '/containers/create', options);
    return Id;
  }

  async startContainer(id: string, signal?: AbortSignal): Promise<void> {
    accept(await this.#versioned('POST', `/containers/${id}/start`, { timeoutMs: SLOW_MS, signal }));
  }

  /**
   * Runs a container to its end and resolves with its exit code. The daemon removes it then, also if this process is gone.
   */
  async runContainer(name: string, spec: object): Promise<number> {
    const id = await this.createContainer(name, spec);
    try {
      const { promise: waiting, resolve: onAnswer } = Promise.withResolvers<void>();
      const ended = this.#json<{ StatusCode: number }>('POST', `/containers/${id}/wait`, {
        ...{ query: { condition: 'removed' }, timeoutMs: SLOW_MS, onAnswer },
      });
      // Ask before the start: after its end, the daemon says that there is no such container.
      await Promise.race([waiting, ended]);
      await Promise.all([this.startContainer(id), ended]);
      return (await ended).StatusCode;
    } catch (error) {
      await this.removeContainer(id).catch(() => {});
      throw error;
    }
  }

  /** Kills it, whatever its state, and deletes it; also resolves if there is none. `id` may be its name. */
  async removeContainer(id: string): Promise<void> {
    const options = { query: { force: '1', v: '1' }, timeoutMs: SLOW_MS };
    for (;;) {
      const answer = await this.#versioned('DELETE', `/containers/${id}`, options);
      if (answer.status === 404) return;
      // Another caller is removing it: the next answer is that it is gone.
      if (answer.status !== 409) return accept(answer);
      await this.#versioned('POST', `/containers/${id}/wait`, {
        query: { condition: 'removed' },
        timeoutMs: QUICK_MS,
      });
    }
  }

  async inspectContainer(id: string): Promise<ContainerState> {
    const { State } = await this.#json<{ State: ContainerState }>('GET', `/containers/${id}/json`);
    return State;
  }

  /** Resolves when the container does not run any more. The only call without a timeout: the caller aborts it. */
  async waitForExit(id: string, signal: AbortSignal): Promise<void> {
    accept(await this.#versioned('POST', `/containers/${id}/wait`, { timeoutMs: 0, signal }));
  }

  /** The last lines it printed. */
  async containerLog(id: string): Promise<string> {
    const query = { stdout: '1', stderr: '1', tail: String(LOG_LINES) };
    const answer = await this.#versioned('GET', `/containers/${id}/logs`, { query });
    accept(answer);
    return plainLog(answer.body);
  }

  /** Including stopped ones. */
  listContainers(label: string): Promise<ContainerSummary[]> {
    const filters = JSON.stringify({ label: [label] });
    return this.#json('GET', '/containers/json', { query: { all: '1', filters } });
  }

  async #json<T>(method: string, path: string, options?: CallOptions): Promise<T> {
    const answer = await this.#versioned(method, path, options);
    accept(answer);
    return JSON.parse(answer.body.toString('utf8')) as T;
  }

  async #versioned(method: string, path: string, options?: CallOptions): Promise<Answer> {
    this.#prefix ??= `/v${await this.#chooseVersion()}`;
    return this.#call(method, this.#prefix + path, options);
  }

  async #chooseVersion(): Promise<string> {
    const answer = await this.#call('GET', '/version');
    accept(answer);
    const { ApiVersion, MinAPIVersion } = JSON.parse(answer.body.toString('utf8'));
    if (comparable(ApiVersion) < comparable(API_VERSION)) {
      throw new SandboxError(
        'backend_down',
        `Docker at ${this.#host} speaks version ${ApiVersion} of its API; ${API_VERSION} is needed, which Docker 20.10 and later have.`,
      );
    }
    const oldest = String(MinAPIVersion ?? API_VERSION);
    return comparable(oldest) > comparable(API_VERSION) ? oldest : API_VERSION;
  }

  #call(
    method: string,
    path: string,
    { query, body, timeoutMs = QUICK_MS, signal, onAnswer }: CallOptions = {},
  ): Promise<Answer> {
    const search = query ? `?${new URLSearchParams(query)}` : '';
    const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
    const signals = [limit, signal].filter((each) => each !== undefined);
    return new Promise<Answer>((resolve, reject) => {
      const outgoing = request(
        {
          ...this.#endpoint,
          method,
          path: path + search,
          // The daemon requires a host name although there is only the socket.
          headers: { host: 'docker', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
          // One connection per call: a restarted daemon is found at once.
          agent: false,
          signal: AbortSignal.any(signals),
        },
        (incoming) => {
          onAnswer?.();
          readAnswer(incoming).then(resolve, (error) => reject(this.#explain(error, limit, timeoutMs)));
        },
      );
      outgoing.on('error', (error) => reject(this.#explain(error, limit, timeoutMs)));
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #explain(error: NodeJS.ErrnoException, limit: AbortSignal | undefined, timeoutMs: number): Error {
    if (error.name === 'AbortError' && !limit?.aborted) return error;
    const down = (text: string) => new SandboxError('backend_down', text, { cause: error });
    if (limit?.aborted) {
      return down(
        `Docker at ${this.#host} did not answer within ${timeoutMs / 1000} s; check that the daemon is healthy.`,
      );
    }
    if (error.code === 'EACCES' || error.code === 'EPERM') {
      return down(
        `This user may not use Docker's socket ${this.#host}: add the user to the group that owns it (usually docker) and log in again.`,
      );
    }
    return down(
      `Docker's daemon does not answer at ${this.#host} (${error.code ?? error.message}): start it, or name the right socket in DOCKER_HOST.`,
    );
  }
}

async function readAnswer(incoming: IncomingMessage): Promise<Answer> {
  return { status: incoming.statusCode ?? 0, body: await readBody(incoming, MAX_ANSWER_BYTES) };
}

function accept({ status, body }: Answer): void {
  if (status < 400) return;
  const text = body.toString('utf8');
  let message = text;
  try {
    message = String(JSON.parse(text).message ?? text);
  } catch {
    // Some proxies answer in plain text.
  }
  throw new DockerRefusal(status, message.trim() || `status ${status}`);
}

/** `1.9` is older than `1.41`. */
function comparable(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major * 1000 + minor;
}
