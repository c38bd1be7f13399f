/**
 * A Kubernetes cluster for tests, with one node: etcd, kube-apiserver, kube-scheduler, containerd and kubelet, all real. A test
 * that needs a controller manager starts it; without it nobody collects garbage or notices that a node is gone. The network
 * plug-in is a small program that enforces no policy: it gives all pods a network, or none, as the test says.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ControlGroups } from '../../containers/testing/control-groups.ts';
import { rootIsOverlay } from '../../docker/testing/docker-daemon.ts';
import type { ClusterAccess } from '../access/cluster-access.ts';
import { kubeconfigAccess } from '../access/kubeconfig.ts';
import { applyManifest } from './apply-manifest.ts';
import { callApi } from './call-api.ts';
import { type ClusterProgram, programPath } from './cluster-programs.ts';
import { networkPlugin } from './network-plugin.ts';
import { OwnMachine, type Running } from './own-machine.ts';
import { PAUSE_IMAGE, packImages } from './test-images.ts';

const UP_WITHIN_MS = 120_000;
export const PORT = 6443;
/** On a disk, wherever other temporary files are: a kubelet measures the space that it has. */
const DIR = '/var/tmp/talaria-kubernetes-';
const NODE = 'node';

/** The namespace of the manifest in deploy/. */
export const NAMESPACE = 'talaria-sandboxes';

export class Cluster implements AsyncDisposable {
  readonly #dir: string;
  readonly #machine: OwnMachine;
  readonly #groups: ControlGroups;
  readonly #adminToken: string;
  readonly #running = new Map<ClusterProgram, Running>();
  #adminAccess: Promise<ClusterAccess> | undefined;
  #serverConfig: Promise<string> | undefined;

  private constructor(dir: string, machine: OwnMachine, groups: ControlGroups, adminToken: string) {
    this.#dir = dir;
    this.#machine = machine;
    this.#groups = groups;
    this.#adminToken = adminToken;
  }

  static async start(): Promise<Cluster> {
    const dir = await mkdtemp(DIR);
    const groups = await ControlGroups.make();
    const machine = await OwnMachine.start(dir, ['/var/lib/kubelet', '/var/lib/cni']);
    const cluster = new Cluster(dir, machine, groups, randomBytes(16).toString('hex'));
    try {
      await cluster.#writeFiles();
      await Promise.all([cluster.#startNode(), cluster.#startControl()]);
      await cluster.start('kubelet');
      await cluster.until('a node that is ready', () => cluster.#nodeReady());
    } catch (error) {
      const logs = [...cluster.#running.values()].map(({ log }) => log).join('\n');
      await cluster[Symbol.asyncDispose]();
      throw new Error(`no cluster came up: ${(error as Error).message}\n${logs}`);
    }
    return cluster;
  }

  /** The address of its only node, which also runs the API server. */
  get address(): string {
    return this.#machine.address;
  }

  /** For kubectl and for the backend, as the administrator or with another token. */
  async kubeconfig(token = this.#adminToken): Promise<string> {
    const path = join(this.#dir, `kubeconfig-${randomBytes(4).toString('hex')}`);
    const certificate = await readFile(join(this.#dir, 'pki', 'apiserver.crt'));
    const config = {
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: NAMESPACE } }],
      clusters: [
        {
          name: 'test',
          cluster: {
            server: `https://${this.#machine.address}:${PORT}`,
            'certificate-authority-data': certificate.toString('base64'),
          },
        },
      ],
      users: [{ name: 'test', user: { token } }],
    };
    await writeFile(path, JSON.stringify(config));
    return path;
  }

  async start(program: ClusterProgram): Promise<void> {
    const args = await this.#arguments(program);
    this.#running.set(program, await this.#machine.spawn(programPath(program), args));
    if (program === 'kube-apiserver')
      await this.until('an API server that is ready', async () => (await this.call('GET', '/readyz')) !== '');
  }

  async kill(program: ClusterProgram): Promise<void> {
    await this.#running.get(program)?.kill();
    this.#running.delete(program);
  }

  /** A request as the administrator, for what the backend itself never asks of Kubernetes. */
  async call<T>(method: string, path: string, body?: object, type = 'application/json'): Promise<T> {
    return await callApi<T>(await this.#admin(), method, path, body, type);
  }

  /** For a server with the rights of deploy/kubernetes/sandboxes.yaml, and no other. */
  async serverKubeconfig(): Promise<string> {
    this.#serverConfig ??= this.tokenOf('talaria', 'talaria').then((token) => this.kubeconfig(token));
    return await this.#serverConfig;
  }

  /** The token of a service account. */
  async tokenOf(namespace: string, account: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { status } = await this.call<{ status: { token: string } }>('POST', path, request);
    return status.token;
  }

  async podNames(): Promise<string[]> {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods`;
    const { items } = await this.call<{ items: { metadata: { name: string } }[] }>('GET', path);
    return items.map(({ metadata }) => metadata.name);
  }

  /** For pods that are created from now on. None is what they have under an enforced policy. */
  async setNetwork(network: 'none' | 'open'): Promise<void> {
    await writeFile(this.#at('cni', 'network'), network);
  }

  /** Fails if a program has ended, or after a long time. */
  async until(what: string, done: () => Promise<boolean>): Promise<void> {
    let last: unknown;
    for (const deadline = Date.now() + UP_WITHIN_MS; ; await delay(100)) {
      const ended = [...this.#running].find(([, { ended }]) => ended);
      const ready = await done().catch((error: unknown) => {
        last = error;
        return false;
      });
      if (ready) return;
      if (ended || Date.now() > deadline)
        throw new Error(`${what}: ${ended ? `${ended[0]} ended` : `not in time (${last})`}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine[Symbol.asyncDispose]();
    await this.#groups[Symbol.asyncDispose]();
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #startControl(): Promise<void> {
    await this.start('etcd');
    await this.start('kube-apiserver');
    await applyManifest((method, path, body) => this.call(method, path, body));
    await this.start('kube-scheduler');
  }

  async #startNode(): Promise<void> {
    await this.start('containerd');
    const images = await packImages(this.#dir);
    const ctr = ['--address', this.#at('containerd.sock'), '--namespace', 'k8s.io'];
    await this.until(
      'a containerd that is ready',
      async () => (await this.#machine.run('ctr', [...ctr, 'version'])) !== '',
    );
    await this.#machine.run('ctr', [...ctr, 'images', 'import', '--snapshotter', snapshotter(), images]);
    await rm(images);
  }

  async #nodeReady(): Promise<boolean> {
    const { status } = await this.call<{ status: { conditions?: { type: string; status: string }[] } }>(
      'GET',
      `/api/v1/nodes/${NODE}`,
    );
    return status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
  }

  #at(...names: string[]): string {
    return join(this.#dir, ...names);
  }

  async #admin(): Promise<ClusterAccess> {
    this.#adminAccess ??= kubeconfigAccess([await this.kubeconfig()]);
    return await this.#adminAccess;
  }

  async #writeFiles(): Promise<void> {
    const write = (name: string, content: string) => writeFile(this.#at(name), content, { mode: 0o600 });
    for (const name of ['pki', 'cni', 'cni-config']) await mkdir(this.#at(name));
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await write('accounts.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    await write('accounts.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString());
    await write('tokens.csv', `${this.#adminToken},admin,admin,system:masters\n`);
    await write('resolv.conf', 'nameserver 127.0.0.1\n');
    await this.setNetwork('none');
    await write('containerd.toml', this.#containerdConfig());
    await write('kubelet.json', JSON.stringify(this.#kubeletConfig()));
    const network = { cniVersion: '0.3.1', name: 'test', plugins: [{ type: 'none' }] };
    await write('cni-config/test.conflist', JSON.stringify(network));
    for (const name of ['cni/none', 'cni/loopback']) {
      await write(name, networkPlugin(this.#at('cni')));
      await chmod(this.#at(name), 0o755);
    }
  }

  async #arguments(program: ClusterProgram): Promise<string[]> {
    const at = (name: string) => this.#at(name);
    switch (program) {
      case 'etcd':
        return ['--data-dir', at('etcd'), '--unsafe-no-fsync', '--log-level', 'error'];
      case 'kube-apiserver':
        return [
          ...['--etcd-servers', 'http://127.0.0.1:2379', '--cert-dir', at('pki')],
          ...['--bind-address', this.#machine.address, '--secure-port', String(PORT)],
          ...['--service-cluster-ip-range', '10.0.0.0/24', '--service-account-issuer', 'https://test'],
          ...['--service-account-key-file', at('accounts.pub')],
          ...['--service-account-signing-key-file', at('accounts.key')],
          ...['--token-auth-file', at('tokens.csv'), '--authorization-mode', 'RBAC'],
          ...['--kubelet-preferred-address-types', 'InternalIP'],
          // Only a controller manager would take the taint of a new node away.
          ...['--disable-admission-plugins', 'TaintNodesByCondition'],
        ];
      case 'kube-scheduler':
        return ['--kubeconfig', await this.kubeconfig(), '--leader-elect=false', '--secure-port=0'];
      case 'kube-controller-manager':
        return [
          ...['--kubeconfig', await this.kubeconfig(), '--leader-elect=false', '--secure-port=0'],
          ...['--controllers', 'garbage-collector-controller,root-ca-certificate-publisher-controller'],
          ...['--service-account-private-key-file', at('accounts.key')],
          ...['--root-ca-file', join(at('pki'), 'apiserver.crt')],
        ];
      case 'containerd':
        return ['--config', at('containerd.toml')];
      case 'kubelet':
        return [
          ...['--config', at('kubelet.json'), '--kubeconfig', await this.kubeconfig()],
          ...['--root-dir', at('kubelet'), '--cert-dir', at('kubelet-pki')],
          ...['--hostname-override', NODE, '--node-ip', this.#machine.address],
        ];
      default:
        throw new Error(`${program} is not a part of a cluster`);
    }
  }

  #containerdConfig(): string {
    return `
version = 2
root = "${this.#at('containerd')}"
state = "${this.#at('containerd-state')}"
[grpc]
  address = "${this.#at('containerd.sock')}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  disable_apparmor = true
  # This machine may not let anybody be spared when memory runs out.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "${snapshotter()}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${this.#at('cni')}"
    conf_dir = "${this.#at('cni-config')}"
`;
  }

  #kubeletConfig(): object {
    return {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      ...{ address: this.#machine.address, readOnlyPort: 0, healthzPort: 0 },
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      containerRuntimeEndpoint: `unix://${this.#at('containerd.sock')}`,
      ...{ cgroupDriver: 'cgroupfs', cgroupRoot: this.#groups.path, cgroupsPerQOS: true },
      ...{ enforceNodeAllocatable: [], failSwapOn: false, failCgroupV1: false },
      // Whatever the disk of this machine has left.
      evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
      ...{ imageGCHighThresholdPercent: 100, resolvConf: this.#at('resolv.conf') },
      ...{ podLogsDir: this.#at('pod-logs'), volumePluginDir: this.#at('volume-plugins') },
      ...{ makeIPTablesUtilChains: false, registerNode: true },
    };
  }
}

/** Copying works on every file system. */
function snapshotter(): string {
  return rootIsOverlay() ? 'native' : 'overlayfs';
}
