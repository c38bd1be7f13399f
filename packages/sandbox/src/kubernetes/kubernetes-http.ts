/**
 * Requests to the API server of a cluster. Each ends in bounded time. An API server that cannot be reached is a `SandboxError`
 * with the code `backend_down` that says what to do; what it refuses is a `KubernetesRefusal`. No credential is in any message.
 *
 * A request that was refused before it began is retried within the same time. A busy API server says when (429); two pods that
 * are created at once under a quota disturb each other (409); after credentials were revoked, new ones are fetched (401).
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../errors.ts';
import { readBody } from '../http/read-body.ts';
import type { ClusterAccess } from './access/cluster-access.ts';
import { KubernetesRefusal } from './kubernetes-refusal.ts';

const QUICK_MS = 20_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** The pause if the API server names none. A part of it is random, so that conflicting callers do not retry at once. */
const RETRY_AFTER_MS = 100;
const RETRIED = [401, 409, 429];

export type Query = Record<string, string> | [string, string][];

export interface CallOptions {
  query?: Query;
  body?: object;
  signal?: AbortSignal | undefined;
  withinMs?: number;
}

export interface Answer {
  status: number;
  body: Buffer;
}

/** An answer with an unread body; `limit` also ends the reading. */
interface Opened {
  incoming: IncomingMessage;
  limit: AbortSignal;
}

export class KubernetesHttp {
  readonly secure: boolean;
  readonly #access: ClusterAccess;
  readonly #url: URL;

  constructor(access: ClusterAccess) {
    this.#access = access;
    const url = URL.parse(access.server);
    if (!url || !/^https?:$/.test(url.protocol))
      throw new SandboxError(
        'backend_down',
        `${access.source} names the server "${access.server}"; allowed: https://host:port`,
      );
    this.#url = url;
    this.secure = url.protocol === 'https:';
  }

  async json<T>(method: string, path: string, options?: CallOptions): Promise<T> {
    const answer = await this.call(method, path, options);
    accept(answer);
    return JSON.parse(answer.body.toString('utf8')) as T;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { incoming, limit } = await this.open(method, path, options);
    return await readAnswer(incoming).catch((error: NodeJS.ErrnoException) => {
      throw this.explain(error, options.signal, limit);
    });
  }

  /** For an answer that the caller reads as it comes. */
  async open(method: string, path: string, options: CallOptions = {}): Promise<Opened> {
    const { signal, withinMs = QUICK_MS } = options;
    const limit = AbortSignal.timeout(withinMs);
    const deadline = performance.now() + withinMs;
    const any = signal ? AbortSignal.any([limit, signal]) : limit;
    try {
      for (let attempt = 0, renewed = false; ; attempt++) {
        const incoming = await this.#send(method, path, options, any, renewed);
        if (!RETRIED.includes(incoming.statusCode ?? 0)) return { incoming, limit };
        const answer = await readAnswer(incoming);
        const pauseMs = pauseOf(incoming);
        const hopeless = answer.status === 401 ? attempt > 0 : answer.status === 409 && !disturbed(answer);
        if (hopeless || performance.now() + pauseMs > deadline) throw refusalOf(answer);
        renewed = answer.status === 401;
        await delay(pauseMs, undefined, { signal: any });
      }
    } catch (error) {
      throw this.explain(error as NodeJS.ErrnoException, signal, limit);
    }
  }

  /** The options of a request, for any HTTP client; `renewed` asks for credentials that were not used yet. */
  async request(method: string, path: string, query: Query = {}, renewed = false): Promise<RequestOptions> {
    const { token, tls } = await this.#access.credentials({ renewed });
    const { hostname, port, pathname } = this.#url;
    return {
      ...tls,
      method,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (this.secure ? 443 : 80) : Number(port),
      path: `${pathname.replace(/\/$/, '')}${path}?${new URLSearchParams(query)}`,
      headers: { accept: 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    };
  }

  explain(error: NodeJS.ErrnoException, signal?: AbortSignal, limit?: AbortSignal): Error {
    if (signal?.aborted) return signal.reason as Error;
    if (error instanceof SandboxError) return error;
    const at = `Kubernetes at ${this.#access.server} (${this.#access.source})`;
    const tls = this.secure ? describeTlsFailure(error) : undefined;
    if (tls) return new SandboxError('backend_down', `${at} ${tls}`, { cause: error });
    const text = limit?.aborted
      ? `${at} did not answer in time.`
      : `${at} does not answer (${error.code ?? error.message}): see whether its API server runs, or name another in KUBECONFIG.`;
    return new SandboxError('backend_down', text, { cause: error });
  }

  async #send(
    method: string,
    path: string,
    { query, body }: CallOptions,
    signal: AbortSignal,
    renewed: boolean,
  ): Promise<IncomingMessage> {
    const options = await this.request(method, path, query, renewed);
    const content = body === undefined ? undefined : JSON.stringify(body);
    const headers = { ...options.headers, ...(content ? { 'content-type': 'application/json' } : {}) };
    return new Promise((resolve, reject) => {
      const send = this.secure ? httpsRequest : httpRequest;
      // One connection per call: an API server that was restarted is found at once.
      const outgoing = send({ ...options, headers, agent: false, signal }, resolve);
      outgoing.on('error', reject);
      outgoing.end(content);
    });
  }
}

/** Why TLS failed and what to change; undefined if something else failed. */
function describeTlsFailure({ code = '', message }: NodeJS.ErrnoException): string | undefined {
  if (/CERT|SIGNATURE|ALTNAME/.test(code))
    return `has a certificate that is not trusted (${code}): check the certificate authority and the server name of the cluster.`;
  if (/^ERR_(SSL|OSSL)|^EPROTO$/.test(code) || /wrong version number/.test(message))
    return `cannot be reached over TLS (${code || message}): check the server's address and the certificates.`;
  return undefined;
}

function pauseOf({ statusCode, headers }: IncomingMessage): number {
  if (statusCode === 401) return 0;
  const seconds = Number(headers['retry-after'] || Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : RETRY_AFTER_MS * (0.5 + Math.random());
}

/** Whether the conflict comes from a change by others meanwhile, and not from an object that exists already. */
function disturbed({ body }: Answer): boolean {
  return body.includes('the object has been modified');
}

export async function readAnswer(incoming: IncomingMessage): Promise<Answer> {
  return { status: incoming.statusCode ?? 0, body: await readBody(incoming, MAX_ANSWER_BYTES) };
}

export function accept(answer: Answer): void {
  if (answer.status >= 400) throw refusalOf(answer);
}

function refusalOf({ status, body }: Answer): KubernetesRefusal {
  return new KubernetesRefusal(status, body.toString('utf8'));
}
