/**
 * A Nomad agent for tests: server and client in one, on ports of its own, on loopback. NOMAD_BIN names the program; without
 * it, the one that test/backends/build-nomad keeps in the user's cache.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { unmountBelow } from '../../testing/unmount-below.ts';
import { AGENT_NAME, type Certificates } from './certificates.ts';

const NOMAD_VERSION = '1.11.2';
const UP_WITHIN_MS = 60_000;

function nomadProgram(): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return process.env.NOMAD_BIN || join(cache, 'talaria', `nomad-${NOMAD_VERSION}`, 'nomad');
}

/** Why this machine has no agent for tests; undefined if it has one. */
export function whyNoNomad(): string | undefined {
  if (process.getuid?.() !== 0) return 'a client of Nomad needs root';
  if (existsSync(nomadProgram())) return undefined;
  return 'NOMAD_BIN names no program, and test/backends/build-nomad has made none';
}

export interface AgentOptions {
  acl?: boolean;
  /** Knows its jobs again after a restart; takes longer to start. */
  persistent?: boolean;
  dockerHost?: string | undefined;
  /** How many connections it takes from one address; 100 by default. */
  maxConnections?: number;
  /** It speaks only TLS, and only with clients that its authority knows. */
  certificates?: Certificates;
}

export class NomadAgent implements AsyncDisposable {
  readonly address: string;
  readonly #dir: string;
  readonly #args: readonly string[];
  readonly #certificates: Certificates | undefined;
  #child: ChildProcess | undefined;
  #log = '';

  private constructor(dir: string, port: number, { persistent = false, certificates }: AgentOptions) {
    this.#dir = dir;
    this.#certificates = certificates;
    this.#args = ['agent', ...(persistent ? [] : ['-dev']), `-config=${join(dir, 'agent.json')}`];
    this.address = `${certificates ? 'https' : 'http'}://127.0.0.1:${port}`;
  }

  static async start(options: AgentOptions = {}): Promise<NomadAgent> {
    const dir = await mkdtemp(join(tmpdir(), 'talaria-nomad-'));
    const [http, rpc, serf] = await Promise.all([freePort(), freePort(), freePort()]);
    const agent = new NomadAgent(dir, http, options);
    await writeFile(join(dir, 'agent.json'), JSON.stringify(agentConfig(dir, { http, rpc, serf }, options)));
    try {
      await agent.start();
    } catch (error) {
      await agent[Symbol.asyncDispose]();
      throw error;
    }
    return agent;
  }

  async start(): Promise<void> {
    // Ended with the test process, however that ends.
    const child = spawn('setpriv', ['--pdeathsig', 'TERM', nomadProgram(), ...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-4_000);
      });
    for (const deadline = Date.now() + UP_WITHIN_MS; ; await delay(50)) {
      if (await this.#ready()) return;
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`Nomad did not start:\n${this.#log}`);
    }
  }

  /** Its tasks live on. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** A request that the backend itself never makes. */
  async call<T>(method: string, path: string, body?: object, token?: string): Promise<T> {
    const { ca, cert, key } = this.#certificates ?? {};
    const [caPem, certPem, keyPem] = await Promise.all([ca, cert, key].map((file) => file && readFile(file)));
    const outgoing = (ca ? httpsRequest : httpRequest)(this.address + path, {
      method,
      agent: false,
      headers: token ? { 'x-nomad-token': token } : {},
      ...(ca ? { ca: caPem, cert: certPem, key: keyPem, servername: AGENT_NAME } : {}),
    });
    outgoing.end(body && JSON.stringify(body));
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    const text = await readText(answer);
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end('SIGTERM');
    // An agent that ends while it cleans up after a task leaves a directory of the task mounted.
    await unmountBelow(this.#dir);
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** Whether it has a leader and a node that takes jobs. If only a token may ask for nodes, a leader is enough. */
  async #ready(): Promise<boolean> {
    try {
      if ((await this.call('GET', '/v1/status/leader')) === '') return false;
      const nodes = await this.call<{ Status: string }[]>('GET', '/v1/nodes').catch((error: Error) => {
        if (error.message.includes('403')) return [{ Status: 'ready' }];
        throw error;
      });
      return nodes.some(({ Status }) => Status === 'ready');
    } catch {
      return false;
    }
  }
}

function agentConfig(
  dir: string,
  { http, rpc, serf }: Record<'http' | 'rpc' | 'serf', number>,
  { acl = false, certificates, dockerHost, maxConnections }: AgentOptions,
): object {
  const off = ['env_aws', 'env_gce', 'env_azure', 'env_digitalocean'].join(',');
  return {
    bind_addr: '127.0.0.1',
    data_dir: join(dir, 'data'),
    ports: { http, rpc, serf },
    advertise: { http: '127.0.0.1', rpc: '127.0.0.1', serf: '127.0.0.1' },
    disable_update_check: true,
    log_level: 'warn',
    acl: { enabled: acl },
    ...(certificates ? { tls: tlsConfig(certificates) } : {}),
    ...(maxConnections === undefined ? {} : { limits: { http_max_conns_per_client: maxConnections } }),
    server: { enabled: true, bootstrap_expect: 1 },
    client: {
      enabled: true,
      network_interface: 'lo',
      options: { 'fingerprint.denylist': off, 'driver.allowlist': 'docker,raw_exec' },
      // So that a test can say what a node has room for.
      memory_total_mb: 16_000,
      cpu_total_compute: 8_000,
    },
    plugin: [
      { raw_exec: [{ config: [{ enabled: true }] }] },
      ...(dockerHost ? [{ docker: [{ config: [{ endpoint: dockerHost }] }] }] : []),
    ],
  };
}

function tlsConfig({ ca, cert, key }: Certificates): object {
  return { http: true, ca_file: ca, cert_file: cert, key_file: key, verify_https_client: true };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
