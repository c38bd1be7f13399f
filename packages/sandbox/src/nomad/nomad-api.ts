/**
 * Nomad's HTTP API, as far as it is needed to run containers. Every call ends in bounded time. An agent that cannot be
 * reached is a `SandboxError` with the code `backend_down` that says what to do; what Nomad refuses is a `NomadRefusal` in
 * its own words. The token is in no message.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ExecStream } from '../containers/relay/exec-stream.ts';
import { SandboxError } from '../errors.ts';
import { readBody } from '../http/read-body.ts';
import { openWebSocket, WebSocketRefused } from '../web-socket/web-socket.ts';
import { NOMAD_EXEC } from './exec-messages.ts';
import { describeTlsFailure, type NomadTlsOptions, readTls } from './nomad-tls.ts';
import type { Allocation, Evaluation, JobSummary } from './nomad-types.ts';

const QUICK_MS = 20_000;
/**
 * How long Nomad may wait for a change before it answers. Meanwhile the question holds a connection. If questions about starting
 * containers held all connections for long, the server could not reach those containers.
 */
const WAIT_S = 2;
const PATIENCE_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const LOG_BYTES = 4_000;
/** The status if an address has over 100 connections to the agent (`http_max_conns_per_client`); open execs do not count. */
const BUSY = 429;
const LONGEST_PAUSE_MS = 500;

/** The address of Nomad and the credentials, as Nomad's own clients read them from the variables of these names. */
export interface NomadOptions extends NomadTlsOptions {
  /** NOMAD_ADDR: `http://host:port`, `https://host:port` or `unix:///path`. */
  address: string;
  token?: string | undefined;
  /** NOMAD_HTTP_AUTH: `user:password`, for a proxy before the agent. */
  httpAuth?: string | undefined;
  namespace?: string | undefined;
  region?: string | undefined;
}

export class NomadRefusal extends SandboxError {
  readonly status: number;

  constructor(status: number, message: string) {
    const fix =
      status === 403
        ? ' The token needs the policy in docs/nomad.md; set NOMAD_TOKEN and NOMAD_NAMESPACE.'
        : '';
    super('backend_down', `Nomad refused: ${message}.${fix}`);
    this.status = status;
  }
}

interface CallOptions {
  query?: Record<string, string>;
  body?: object;
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
}

interface Answer {
  status: number;
  /** Nomad's index of the state that was read. Nomad holds a query with this index until there is a later one. */
  index: number;
  body: Buffer;
}

export class NomadApi {
  readonly #options: NomadOptions;
  readonly #secure: boolean;
  readonly #endpoint: Pick<RequestOptions, 'socketPath' | 'host' | 'port'>;
  #tls: Promise<RequestOptions> | undefined;

  constructor(options: NomadOptions) {
    this.#options = options;
    const url = URL.parse(options.address);
    this.#secure = url?.protocol === 'https:';
    this.#endpoint = endpointOf(url, options.address);
  }

  get address(): string {
    return this.#options.address;
  }

  /** Returns the id of the evaluation that looks for a place for the job. */
  async registerJob(job: object): Promise<string> {
    const { EvalID } = await this.#json<{ EvalID: string }>('PUT', '/v1/jobs', { body: { Job: job } });
    return EvalID;
  }

  /** Without `purge` Nomad keeps the stopped job for inspection. */
  async stopJob(name: string, { purge }: { purge: boolean }): Promise<void> {
    const answer = await this.#call('DELETE', `/v1/job/${name}`, { query: { purge: String(purge) } });
    if (answer.status !== 404) accept(answer);
  }

  listJobs(prefix: string): Promise<JobSummary[]> {
    return this.#json('GET', '/v1/jobs', { query: { prefix, meta: 'true' } });
  }

  /** Shows that the agent answers; needs no token. */
  leader(): Promise<string> {
    return this.#json('GET', '/v1/status/leader');
  }

  /** Calls `done` with the evaluation after each change, until it returns a result. */
  async untilEvaluation<T>(
    id: string,
    done: (evaluation: Evaluation) => T | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#until(`/v1/evaluation/${id}`, done, signal);
  }

  async untilAllocations<T>(
    job: string,
    done: (allocations: Allocation[]) => T | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#until(`/v1/job/${job}/allocations`, done, signal);
  }

  allocations(job: string): Promise<Allocation[]> {
    return this.#json('GET', `/v1/job/${job}/allocations`);
  }

  /** The end of what a task printed. The agent answers 200 even if it could not read it. */
  async taskLog(allocation: string, task: string, type: 'stdout' | 'stderr'): Promise<string> {
    const query = { task, type, plain: 'true', origin: 'end', offset: String(LOG_BYTES) };
    const answer = await this.#call('GET', `/v1/client/fs/logs/${allocation}`, { query });
    accept(answer);
    return answer.body.toString('utf8').trim();
  }

  /** The input and output of a program in a task, as one stream. */
  async exec(
    allocation: string,
    task: string,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<Duplex> {
    const query = { task, tty: 'false', command: JSON.stringify(command) };
    const path = this.#path(`/v1/client/allocation/${allocation}/exec`, query);
    const options = {
      ...this.#endpoint,
      ...(await this.#tlsOptions()),
      path,
      headers: this.#headers(),
      signal,
    };
    for (;;) {
      try {
        const messages = await openWebSocket({ ...options, secure: this.#secure, sends: 'text' });
        return new ExecStream(messages, NOMAD_EXEC);
      } catch (error) {
        if (error instanceof WebSocketRefused) {
          if (error.status !== BUSY) throw new NomadRefusal(error.status, error.message);
        } else if (!isReset(error)) {
          throw this.#explain(error as NodeJS.ErrnoException, signal);
        }
        await pause(signal);
      }
    }
  }

  async #until<T, Answered>(
    path: string,
    done: (answer: Answered) => T | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    for (let index = 0; ; ) {
      const query = { index: String(index), wait: `${WAIT_S}s` };
      const answer = await this.#call('GET', path, { query, signal, timeoutMs: PATIENCE_MS });
      accept(answer);
      const found = done(JSON.parse(answer.body.toString('utf8')) as Answered);
      if (found !== undefined) return found;
      // Calls that were refused meanwhile get the connection.
      if (answer.index === index) await pause(signal);
      // A lower index comes from another server, after a restart.
      index = answer.index < index ? 0 : answer.index;
    }
  }

  async #json<T>(method: string, path: string, options?: CallOptions): Promise<T> {
    const answer = await this.#call(method, path, options);
    accept(answer);
    return JSON.parse(answer.body.toString('utf8')) as T;
  }

  /**
   * Retries while the agent refuses the call for too many connections, for as long as the call may take. A reset counts as such a
   * refusal: the agent closes the connection without reading the request, and then its answer may get lost. If the agent had begun
   * the call before a reset, the retry does no harm: every call here may be made twice.
   */
  async #call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { signal, timeoutMs = QUICK_MS } = options;
    const limit = AbortSignal.timeout(timeoutMs);
    const any = signal ? AbortSignal.any([limit, signal]) : limit;
    for (const deadline = performance.now() + timeoutMs - LONGEST_PAUSE_MS; ; ) {
      const isLate = () => performance.now() > deadline;
      try {
        const answer = await this.#send(method, path, options, any, limit);
        if (answer.status !== BUSY || isLate()) return answer;
      } catch (error) {
        if (!isReset((error as Error).cause) || isLate()) throw error;
      }
      await pause(any);
    }
  }

  async #send(
    method: string,
    path: string,
    { query = {}, body, signal }: CallOptions,
    any: AbortSignal,
    limit: AbortSignal,
  ): Promise<Answer> {
    const options = {
      ...this.#endpoint,
      ...(await this.#tlsOptions()),
      ...{ method, path: this.#path(path, query), headers: this.#headers() },
      // One connection per call: an agent that was restarted is found at once.
      agent: false as const,
      signal: any,
    };
    return new Promise<Answer>((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException) => reject(this.#explain(error, signal, limit));
      const outgoing = (this.#secure ? httpsRequest : httpRequest)(options, (incoming) => {
        readAnswer(incoming).then(resolve, fail);
      });
      outgoing.on('error', fail);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #path(path: string, query: Record<string, string>): string {
    const { namespace, region } = this.#options;
    const all = { ...query, ...(namespace ? { namespace } : {}), ...(region ? { region } : {}) };
    return `${path}?${new URLSearchParams(all)}`;
  }

  #headers(): Record<string, string> {
    const { token, httpAuth } = this.#options;
    return {
      ...(token ? { 'x-nomad-token': token } : {}),
      ...(httpAuth ? { authorization: `Basic ${Buffer.from(httpAuth).toString('base64')}` } : {}),
    };
  }

  /** Reads the files only once: an operator who renews them restarts the server. */
  #tlsOptions(): Promise<RequestOptions> {
    this.#tls ??= this.#secure ? readTls(this.#options) : Promise.resolve({});
    return this.#tls;
  }

  #explain(error: NodeJS.ErrnoException, signal?: AbortSignal, limit?: AbortSignal): Error {
    if (signal?.aborted) return signal.reason as Error;
    if (error instanceof SandboxError) return error;
    const at = `Nomad at ${this.address}`;
    const tls = this.#secure ? describeTlsFailure(error) : undefined;
    if (tls) return new SandboxError('backend_down', `${at} ${tls}`, { cause: error });
    const text = limit?.aborted
      ? `${at} did not answer in time; see whether its servers have a leader.`
      : `${at} does not answer (${error.code ?? error.message}): start the agent, or name the right address in NOMAD_ADDR.`;
    return new SandboxError('backend_down', text, { cause: error });
  }
}

function isReset(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET';
}

function endpointOf(url: URL | null, address: string): Pick<RequestOptions, 'socketPath' | 'host' | 'port'> {
  if (url?.protocol === 'unix:' && url.pathname.length > 1) return { socketPath: url.pathname };
  if ((url?.protocol === 'http:' || url?.protocol === 'https:') && url.hostname !== '') {
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
    return { host: url.hostname.replace(/^\[|\]$/g, ''), port };
  }
  throw new SandboxError(
    'invalid_request',
    `NOMAD_ADDR should be http://host:port, https://host:port or unix:///path, not ${address}.`,
  );
}

/** A random pause, so that refused callers do not retry at once. */
async function pause(signal: AbortSignal): Promise<void> {
  await delay(Math.random() * LONGEST_PAUSE_MS, undefined, { signal }).catch(() => {});
  signal.throwIfAborted();
}

async function readAnswer(incoming: IncomingMessage): Promise<Answer> {
  const body = await readBody(incoming, MAX_ANSWER_BYTES);
  const index = Number(incoming.headers['x-nomad-index'] ?? 0);
  return { status: incoming.statusCode ?? 0, index, body };
}

function accept({ status, body }: Answer): void {
  if (status < 400) return;
  throw new NomadRefusal(status, body.toString('utf8').trim() || `status ${status}`);
}
