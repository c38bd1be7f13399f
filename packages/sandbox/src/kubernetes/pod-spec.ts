/**
 * The pod of one container. Pure: the settings and the request in, the body of the `create` call out.
 *
 * Always: no capabilities, no new privileges, a user that is not root, the seccomp profile of the container runtime, a read-only
 * root file system, no service account, nothing of the node. So it satisfies the level `restricted` of Pod Security. No
 * network unless it is allowed: that is the NetworkPolicy's part (network-policy.ts), which finds the pod by its label.
 */
import { SANDBOX_USER, SERVER_MEMORY_BYTES, TMP_BYTES } from '../containers/allowances.ts';
import type { ContainerRequest } from '../containers/container-driver.ts';
import { SOCKET_NAME } from '../containers/container-socket.ts';
import { FIRST_PROCESS } from '../containers/first-process.ts';
import { IMAGE_PROGRAM } from '../containers/image/image-context.ts';
import type { ContainerServerConfig } from '../containers/server/main.ts';
import { SERVER_PROGRAM } from '../containers/server-program.ts';
import { SandboxError } from '../errors.ts';
import type { Pod } from './kubernetes-types.ts';

export const CONTAINER = 'server';
/** The paths in a pod that its server writes to. */
export const WORKSPACES_DIR = '/talaria/workspaces';
const RUN_DIR = '/talaria/run';
const SOCKET_PATH = `${RUN_DIR}/${SOCKET_NAME}`;
const RUN_BYTES = 1024 * 1024;

/** The command that runs in the pod to reach its server. */
export const RELAY_COMMAND = [IMAGE_PROGRAM, 'relay', SOCKET_PATH];

/** The labels of a pod's network: what the NetworkPolicy in deploy/kubernetes/sandboxes.yaml selects. */
const NETWORK_LABEL = 'talaria.network';
const NAME_LABEL = 'app.kubernetes.io/name';
const NAME = 'talaria-sandbox';
/** The form of a label's value. A value of another form becomes an annotation, by which nothing can be selected. */
const LABEL_VALUE = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

export interface PodSettings {
  /** `talaria sandbox-image` makes it. */
  image: string;
  /** Names of secrets in the namespace. */
  pullSecrets: readonly string[];
  runtimeClass?: string | undefined;
  nodeSelector: Readonly<Record<string, string>>;
  /** Each `key`, `key=value`, or either with `:effect`. */
  tolerations: readonly string[];
  /** What a pod reserves of a node. A lower limit also lowers the reservation. */
  cpus: number;
  memoryMb: number;
  /** What a pod reserves of a node's disk. */
  diskMb: number;
  /** How much of a node's disk a pod may use before it is evicted; without it, all. */
  maxDiskMb?: number | undefined;
}

/** The parts that differ from pod to pod; the settings are the same for all. */
interface PodPlan extends Pick<ContainerRequest, 'name' | 'labels' | 'allowNetwork' | 'limits'> {
  command: readonly string[];
  /** The pod of this server: with it, Kubernetes deletes the pods that it has left. */
  owner?: Pod | undefined;
  lifetimeS?: number;
}

export function podSpec(settings: PodSettings, request: ContainerRequest, owner?: Pod): object {
  const { name, labels, allowNetwork, limits } = request;
  const command = serverCommand(request);
  return plainPodSpec(settings, { name, labels, allowNetwork, limits, command, owner });
}

/** A pod that is as strict as every other, whatever it runs. */
export function plainPodSpec(settings: PodSettings, plan: PodPlan): object {
  const { runtimeClass, pullSecrets, nodeSelector, tolerations } = settings;
  const { owner, lifetimeS } = plan;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: plan.name,
      labels: labelsOf(plan),
      annotations: annotationsOf(plan),
      ...(owner ? { ownerReferences: [ownerReference(owner)] } : {}),
    },
    spec: {
      ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 1 },
      ...(lifetimeS ? { activeDeadlineSeconds: lifetimeS } : {}),
      ...{ automountServiceAccountToken: false, enableServiceLinks: false },
      ...{ hostNetwork: false, hostPID: false, hostIPC: false, hostname: 'sandbox' },
      // Without a network a question for a name fails at once.
      ...(plan.allowNetwork ? {} : { dnsPolicy: 'None', dnsConfig: { nameservers: ['127.0.0.1'] } }),
      ...(runtimeClass ? { runtimeClassName: runtimeClass } : {}),
      imagePullSecrets: pullSecrets.map((name) => ({ name })),
      nodeSelector,
      tolerations: tolerations.map(parseToleration),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: SANDBOX_USER.uid,
        runAsGroup: SANDBOX_USER.gid,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [containerSpec(settings, plan)],
      volumes: [
        { name: 'workspaces', emptyDir: {} },
        { name: 'run', emptyDir: { medium: 'Memory', sizeLimit: String(RUN_BYTES) } },
        { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: String(TMP_BYTES) } },
      ],
    },
  };
}

export function labelsOf({ labels, allowNetwork }: Pick<ContainerRequest, 'labels' | 'allowNetwork'>) {
  const selectable = Object.entries(labels).filter(([, value]) => LABEL_VALUE.test(value));
  return {
    ...Object.fromEntries(selectable),
    [NAME_LABEL]: NAME,
    [NETWORK_LABEL]: allowNetwork ? 'allowed' : 'none',
  };
}

function annotationsOf({ labels }: PodPlan): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => !LABEL_VALUE.test(value)));
}

/** Without `blockOwnerDeletion`, which would need a right on the owner. */
function ownerReference({ metadata: { name, uid } }: Pod): object {
  return { apiVersion: 'v1', kind: 'Pod', name, uid };
}

/** Below the first process that every container has. */
function serverCommand(request: ContainerRequest): string[] {
  const server: ContainerServerConfig = {
    socketPath: SOCKET_PATH,
    multiplexed: true,
    backend: {
      ...{ ...request.backend, workspacesDir: WORKSPACES_DIR },
      // Nothing keeps a command from writing beside its workspace.
      writableDirs: [WORKSPACES_DIR],
    },
    version: SERVER_PROGRAM.version,
  };
  return [...FIRST_PROCESS, IMAGE_PROGRAM, JSON.stringify(server)];
}

function containerSpec(settings: PodSettings, plan: PodPlan): object {
  return {
    name: CONTAINER,
    image: settings.image,
    command: plan.command.map(literal),
    workingDir: '/',
    // The end of what it printed becomes part of the pod's status, so nobody needs the right to read logs.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    resources: resourcesOf(settings, plan),
    securityContext: {
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'workspaces', mountPath: WORKSPACES_DIR },
      { name: 'run', mountPath: RUN_DIR },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

function resourcesOf({ cpus, memoryMb, diskMb, maxDiskMb }: PodSettings, { limits }: PodPlan): object {
  const memory = limits.memoryBytes === undefined ? undefined : limits.memoryBytes + SERVER_MEMORY_BYTES;
  const requests = {
    cpu: millis(Math.min(cpus, limits.cpus ?? cpus)),
    memory: String(Math.min(memoryMb * 1024 ** 2, memory ?? Number.POSITIVE_INFINITY)),
    'ephemeral-storage': `${Math.min(diskMb, maxDiskMb ?? diskMb)}Mi`,
  };
  const held = {
    ...(limits.cpus === undefined ? {} : { cpu: millis(limits.cpus) }),
    ...(memory === undefined ? {} : { memory: String(memory) }),
    ...(maxDiskMb === undefined ? {} : { 'ephemeral-storage': `${maxDiskMb}Mi` }),
  };
  return { requests, limits: held };
}

/** Kubernetes would put variables in place of `$(NAME)`. */
function literal(word: string): string {
  return word.replaceAll('$(', () => '$$(');
}

function millis(cpus: number): string {
  return `${Math.max(1, Math.round(cpus * 1000))}m`;
}

function parseToleration(text: string): object {
  const [, key, value, effect] = /^([^=:]+)(?:=([^:]*))?(?::(.+))?$/.exec(text.trim()) ?? [];
  // Without a key it would tolerate every taint.
  if (!key)
    throw new SandboxError('invalid_request', `A toleration should name the key of a taint, not "${text}".`);
  const operator = value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value };
  return { key, ...operator, ...(effect ? { effect } : {}) };
}
