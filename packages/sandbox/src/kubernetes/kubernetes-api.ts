/** The API of Kubernetes, as far as it is needed to run pods in one namespace. kubernetes-http.ts says how calls fail. */
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ExecStream } from '../containers/relay/exec-stream.ts';
import { openWebSocket, WebSocketRefused } from '../web-socket/web-socket.ts';
import type { ClusterAccess } from './access/cluster-access.ts';
import { EXEC_PROTOCOLS, kubernetesExec } from './exec-messages.ts';
import { jsonLines } from './json-lines.ts';
import { accept, KubernetesHttp, readAnswer } from './kubernetes-http.ts';
import { KubernetesRefusal } from './kubernetes-refusal.ts';
import type { ApiStatus, NetworkPolicy, Pod, PodList } from './kubernetes-types.ts';

/** How long the API server keeps a watch open, and how much longer its answer may take. */
const WATCH_S = 30;
const LATE_MS = 20_000;
/** Pause between polls when watches end at once; a proxy may block them. */
const LOOK_EVERY_MS = 500;
const GONE = 410;

/** A right that the role in deploy/kubernetes/sandboxes.yaml gives. */
export interface Right {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
}

export class KubernetesApi {
  readonly namespace: string;
  readonly #access: ClusterAccess;
  readonly #http: KubernetesHttp;

  /** `namespace` is that of the access by default. */
  constructor(access: ClusterAccess, namespace?: string) {
    this.#access = access;
    this.namespace = namespace ?? access.namespace ?? 'default';
    this.#http = new KubernetesHttp(access);
  }

  get server(): string {
    return this.#access.server;
  }

  /** Whether pods run in the caller's own namespace. */
  get atHome(): boolean {
    return this.namespace === this.#access.namespace;
  }

  get source(): string {
    return this.#access.source;
  }

  createPod(pod: object): Promise<Pod> {
    return this.#http.json('POST', this.#pods(), { body: pod });
  }

  listPods(selector: { labels: string } | { name: string }, signal?: AbortSignal): Promise<PodList> {
    const query =
      'labels' in selector ? { labelSelector: selector.labels } : { fieldSelector: byName(selector.name) };
    return this.#http.json('GET', this.#pods(), { query, signal });
  }

  /** Calls `done` with the pod after each change, until it returns a result. It gets undefined if the pod does not exist. */
  async untilPod<T>(
    name: string,
    done: (pod: Pod | undefined) => T | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    for (;;) {
      const next = performance.now() + LOOK_EVERY_MS;
      const { items, metadata } = await this.listPods({ name }, signal);
      const found = done(items[0]);
      if (found !== undefined) return found;
      for await (const pod of this.#changes(name, metadata.resourceVersion, signal)) {
        const changed = done(pod);
        if (changed !== undefined) return changed;
      }
      await unlessAborted(delay(Math.max(0, next - performance.now()), undefined, { signal }), signal);
    }
  }

  /** Resolves when the API server has accepted the request: the pod may still be ending. */
  async deletePod(name: string, { graceS }: { graceS: number }): Promise<void> {
    const query = { gracePeriodSeconds: String(graceS) };
    const answer = await this.#http.call('DELETE', `${this.#pods()}/${name}`, { query });
    if (answer.status !== 404) accept(answer);
  }

  async networkPolicies(): Promise<NetworkPolicy[]> {
    const path = `/apis/networking.k8s.io/v1/namespaces/${this.namespace}/networkpolicies`;
    return (await this.#http.json<{ items: NetworkPolicy[] }>('GET', path)).items;
  }

  /** Whether the caller has this right in this namespace. */
  async may({ verb, group, resource, subresource }: Right): Promise<boolean> {
    const attributes = { namespace: this.namespace, verb, group, resource, subresource };
    const { status } = await this.#http.json<{ status?: { allowed?: boolean } }>(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      {
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: attributes },
        },
      },
    );
    return status?.allowed === true;
  }

  /** The input and output of a program in a container of a pod, as one stream. */
  async exec(
    pod: string,
    container: string,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<Duplex> {
    const query: [string, string][] = [
      ['container', container],
      ...['stdin', 'stdout', 'stderr'].map((name): [string, string] => [name, 'true']),
      ...command.map((word): [string, string] => ['command', word]),
    ];
    const options = await this.#http.request('GET', `${this.#pods()}/${pod}/exec`, query);
    try {
      const messages = await openWebSocket({
        ...{ ...options, signal, secure: this.#http.secure },
        ...{ sends: 'binary', protocols: EXEC_PROTOCOLS },
      });
      return new ExecStream(messages, kubernetesExec(messages.protocol));
    } catch (error) {
      if (error instanceof WebSocketRefused) throw new KubernetesRefusal(error.status, error.message);
      throw this.#http.explain(error as NodeJS.ErrnoException, signal);
    }
  }

  /** Ends when the API server ends the watch, or when it breaks off; then the caller looks again. */
  async *#changes(
    name: string,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncGenerator<Pod | undefined, void> {
    const query = {
      ...{ watch: 'true', fieldSelector: byName(name), resourceVersion },
      timeoutSeconds: String(WATCH_S),
    };
    const withinMs = WATCH_S * 1_000 + LATE_MS;
    const { incoming, limit } = await this.#http.open('GET', this.#pods(), { query, signal, withinMs });
    if (incoming.statusCode === GONE) return void incoming.destroy();
    if ((incoming.statusCode ?? 0) >= 400) accept(await readAnswer(incoming));
    try {
      for await (const { type, object } of jsonLines(incoming) as AsyncIterable<WatchEvent>) {
        if (type === 'ERROR' && object.code === GONE) return;
        if (type === 'ERROR') throw new KubernetesRefusal(object.code ?? 500, object.message ?? '');
        if (type === 'DELETED') yield undefined;
        else if (type === 'ADDED' || type === 'MODIFIED') yield object;
      }
    } catch (error) {
      // API servers are replaced, and load balancers close quiet connections. The next call shows whether more is wrong.
      if (error === incoming.errored && !signal.aborted) return;
      throw this.#http.explain(error as NodeJS.ErrnoException, signal, limit);
    } finally {
      incoming.destroy();
    }
  }

  #pods(): string {
    return `/api/v1/namespaces/${this.namespace}/pods`;
  }
}

interface WatchEvent {
  type: string;
  object: Pod & ApiStatus;
}

function byName(name: string): string {
  return `metadata.name=${name}`;
}

/** After an abort, rejects with the reason of the signal and not with the error that the abort caused. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
