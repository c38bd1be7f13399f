/**
 * Containers as pods of a Kubernetes cluster, anywhere on it: nothing is shared with this machine. Each is reached by the streams
 * of one `exec`, which needs no port and works without a network.
 */
import { hostname } from 'node:os';
import type {
  ContainerDriver,
  ContainerRequest,
  DriverLimits,
  Examined,
  ListedContainer,
  Reached,
} from '../containers/container-driver.ts';
import { FAR_ANSWERS_WITHIN_MS, reachByRelay } from '../containers/relay/reach-by-relay.ts';
import type { KubernetesApi } from './kubernetes-api.ts';
import type { Pod } from './kubernetes-types.ts';
import { requireNoNetwork } from './network-policy.ts';
import { CONTAINER, type PodSettings, podSpec, RELAY_COMMAND, WORKSPACES_DIR } from './pod-spec.ts';
import { endOf, hasEnded, isRunning, seemsAlive, stillWaiting } from './pod-state.ts';
import { requireRights } from './rights.ts';

/** A node may have to pull the image first. */
const RUNNING_WITHIN_MS = 5 * 60_000;
/** A node that has just taken a dozen pods starts each of them slowly. */
const READY_WITHIN_MS = 60_000;
/** The server inside has nothing to save. */
const GRACE_S = 1;
const ENDED_WITHIN_MS = 20_000;
/** A kubelet reports the end of a pod within two seconds, later if busy; a lost one never does. */
const END_KNOWN_WITHIN_MS = 8_000;

const NO_NESTING = 'the seccomp profile of its container runtime forbids namespaces in a pod';
const NO_PROCESS_LIMIT =
  'a pod cannot have one of its own; set podPidsLimit in the configuration of the kubelets, and TALARIA_SANDBOX_PROCESSES=0';

export interface KubernetesDriverOptions {
  settings: PodSettings;
  allowNetwork: boolean;
  /** How long a pod may take until its server runs; several minutes by default. */
  runningWithinMs?: number | undefined;
  /** Connects at the first call, so `prepare` reports a bad kubeconfig. */
  connect(): Promise<KubernetesApi>;
}

export class KubernetesDriver implements ContainerDriver {
  readonly name = 'kubernetes';
  readonly title = 'Kubernetes';
  readonly source: string;
  readonly workspaces = { on: 'container' } as const;
  readonly answersWithinMs = FAR_ANSWERS_WITHIN_MS;
  readonly workspacesDir = WORKSPACES_DIR;
  readonly noNesting = NO_NESTING;
  readonly readyWithinMs = READY_WITHIN_MS;
  readonly #options: KubernetesDriverOptions;
  #connected: Promise<KubernetesApi> | undefined;
  #owner: Pod | undefined;

  constructor(options: KubernetesDriverOptions) {
    this.#options = options;
    this.source = `the image ${options.settings.image}`;
  }

  async prepare(): Promise<DriverLimits> {
    // Read the kubeconfig again at each start: the operator may have fixed it.
    this.#connected = undefined;
    const api = await this.#api();
    await requireRights(api, { network: this.#options.allowNetwork });
    if (!this.#options.allowNetwork) requireNoNetwork(await api.networkPolicies(), api.namespace);
    this.#owner = await this.#ownPod(api);
    return { memoryBytes: true, cpus: true, processes: NO_PROCESS_LIMIT };
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    const api = await this.#api();
    // Not aborted: the API server might continue and leave a pod that we do not know.
    await api.createPod(podSpec(this.#options.settings, request, this.#owner));
    const { runningWithinMs = RUNNING_WITHIN_MS } = this.#options;
    const limit = AbortSignal.timeout(runningWithinMs);
    let last: Pod | undefined;
    const look = (pod: Pod | undefined) => {
      last = pod;
      return isRunning(pod);
    };
    await api.untilPod(request.name, look, AbortSignal.any([signal, limit])).catch((error) => {
      throw limit.aborted && !signal.aborted ? stillWaiting(last, runningWithinMs / 1_000) : error;
    });
    return request.name;
  }

  async reach({ name }: ContainerRequest, signal: AbortSignal): Promise<Reached> {
    const api = await this.#api();
    return await reachByRelay(await api.exec(name, CONTAINER, RELAY_COMMAND, signal), signal);
  }

  async ended(name: string, signal: AbortSignal): Promise<void> {
    const api = await this.#api();
    await api.untilPod(name, hasEnded, signal);
  }

  async examine(name: string): Promise<Examined> {
    const api = await this.#api();
    let last: Pod | undefined;
    const look = (pod: Pod | undefined) => {
      last = pod;
      return (pod && seemsAlive(pod)) === true ? undefined : true;
    };
    const limit = AbortSignal.timeout(END_KNOWN_WITHIN_MS);
    await api.untilPod(name, look, limit).catch((error) => {
      if (!limit.aborted) throw error;
    });
    const end = last && endOf(last);
    if (!end) throw new Error(`Kubernetes has no pod ${name} that ran`);
    return end;
  }

  async list(label: string, value: string): Promise<ListedContainer[]> {
    const api = await this.#api();
    const { items } = await api.listPods({ labels: `${label}=${value}` });
    return items.map((pod) => {
      const { name, labels, annotations } = pod.metadata;
      return { name, labels: { ...annotations, ...labels }, ended: hasEnded(pod) === true };
    });
  }

  /** Deletes the pod even if its node does not report the end: without its owner the pod ends by itself. */
  async remove(name: string): Promise<void> {
    const api = await this.#api();
    await api.deletePod(name, { graceS: GRACE_S });
    const limit = AbortSignal.timeout(ENDED_WITHIN_MS);
    try {
      await api.untilPod(name, (pod) => pod === undefined || undefined, limit);
    } catch (error) {
      if (!limit.aborted) throw error;
      await api.deletePod(name, { graceS: 0 });
    }
  }

  #api(): Promise<KubernetesApi> {
    this.#connected ??= this.#options.connect();
    return this.#connected;
  }

  /** The pod of this server, if it is in the same namespace: Kubernetes ignores an owner in another one. */
  async #ownPod(api: KubernetesApi): Promise<Pod | undefined> {
    if (!process.env.KUBERNETES_SERVICE_HOST || !api.atHome) return undefined;
    const name = process.env.POD_NAME || hostname();
    return (await api.listPods({ name })).items[0];
  }
}
