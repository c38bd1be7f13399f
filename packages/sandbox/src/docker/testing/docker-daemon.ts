/**
 * A Docker daemon for tests: the one that DOCKER_HOST names, or one of the test's own. The latter has its own
 * directories and does not touch the machine's network; it needs root and an installed dockerd.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ControlGroups } from '../../containers/testing/control-groups.ts';
import { findProgram } from '../../host/system-path.ts';
import { unmountBelow } from '../../testing/unmount-below.ts';
import { DockerApi } from '../docker-api.ts';
import { parseDockerHost } from '../docker-host.ts';
import { packTestRoot } from './test-image.ts';

export const TEST_IMAGE = 'talaria-test:machine';

const CONFIGURATION = 'daemon.json';
const UP_WITHIN_MS = 60_000;
const CAP_SYS_ADMIN = 1n << 21n;

export interface TestDaemon extends AsyncDisposable {
  readonly host: string;
  /** Only for a daemon of the test's own. */
  readonly own: OwnDaemon | undefined;
}

export interface OwnDaemon {
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Why this machine has no daemon for tests; undefined if it has one. */
export async function whyNoDocker(): Promise<string | undefined> {
  if (process.env.DOCKER_HOST) return undefined;
  if (process.getuid?.() !== 0) return 'DOCKER_HOST is not set, and only root can start a daemon';
  for (const program of ['dockerd', 'setpriv', 'unshare']) {
    if (!(await findProgram(program))) return `DOCKER_HOST is not set, and ${program} is not installed`;
  }
  // Root only inside a container.
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  if (!(BigInt(`0x${capabilities ?? 0}`) & CAP_SYS_ADMIN)) return 'this root may not mount file systems';
  if (!/ cgroup2? /.test(readFileSync('/proc/self/mounts', 'utf8'))) return 'no control groups are mounted';
  return undefined;
}

/** The runtimes in the configuration of a daemon, by their names. */
export type Runtimes = Readonly<Record<string, { path: string; runtimeArgs?: readonly string[] }>>;

/** The daemon has the test image. If the test starts its own daemon, that one also has these runtimes. */
export async function openTestDaemon({ runtimes = {} }: { runtimes?: Runtimes } = {}): Promise<TestDaemon> {
  const given = process.env.DOCKER_HOST;
  if (given) {
    await importTestImage(given);
    return { host: given, own: undefined, [Symbol.asyncDispose]: async () => {} };
  }
  const dir = await mkdtemp(join(tmpdir(), 'talaria-dockerd-'));
  const groups = hasOldControlGroups() ? await ControlGroups.make() : undefined;
  const parent = groups ? { 'cgroup-parent': groups.path } : {};
  await writeFile(join(dir, CONFIGURATION), JSON.stringify({ runtimes, ...parent }));
  const own = new DaemonProcess(dir);
  const dispose = async () => {
    await own.stop();
    await groups?.[Symbol.asyncDispose]();
    // gVisor leaves a network namespace mounted.
    await unmountBelow(dir);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await own.start();
    await importTestImage(own.host);
  } catch (error) {
    await dispose();
    throw error;
  }
  return { host: own.host, own, [Symbol.asyncDispose]: dispose };
}

/** Whether there are control groups of version 1. Groups of version 2 may only be made by what manages the machine. */
function hasOldControlGroups(): boolean {
  return / cgroup \S*\bcpu\b/.test(readFileSync('/proc/self/mounts', 'utf8'));
}

class DaemonProcess implements OwnDaemon {
  readonly host: string;
  readonly #dir: string;
  #ended: Promise<unknown> | undefined;
  #kill = (): void => {};

  constructor(dir: string) {
    this.#dir = dir;
    this.host = `unix://${join(dir, 'docker.sock')}`;
  }

  async start(): Promise<void> {
    // Ends with the test process, however that ends. It has a network of its own: a daemon without a bridge would
    // remove the machine's.
    const [program, ...args] = ['setpriv', '--pdeathsig', 'TERM', 'unshare', '--net', 'dockerd'] as const;
    const child = spawn(program, [...args, ...this.#arguments()], { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000);
    });
    this.#ended = once(child, 'exit');
    this.#kill = () => child.kill('SIGTERM');
    const api = new DockerApi(this.host);
    for (const deadline = Date.now() + UP_WITHIN_MS; ; await delay(50)) {
      if (await api.info().catch(() => undefined)) return;
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`dockerd did not start:\n${log}`);
    }
  }

  /** Ends the daemon by its pid, with everything it runs. */
  async stop(): Promise<void> {
    this.#kill();
    await this.#ended;
  }

  #arguments(): string[] {
    const at = (name: string) => join(this.#dir, name);
    return [
      ...['--config-file', at(CONFIGURATION)],
      ...['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid'), '-H', this.host],
      ...['--iptables=false', '--ip6tables=false', '--bridge=none', ...storageArguments()],
    ];
  }
}

/** An overlay cannot be mounted on an overlay; copying works everywhere. */
function storageArguments(): string[] {
  return rootIsOverlay() ? ['--storage-driver', 'vfs'] : [];
}

export function rootIsOverlay(): boolean {
  const root = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .findLast((line) => line.split(' ')[1] === '/');
  return root?.split(' ')[2] === 'overlay';
}

export interface DockerAnswer {
  status: number;
  text: string;
}

/** Calls that the backend itself never makes. */
export async function callDocker(
  host: string,
  method: string,
  path: string,
  tar?: Readable,
): Promise<DockerAnswer> {
  const headers = { host: 'docker', ...(tar ? { 'content-type': 'application/x-tar' } : {}) };
  const outgoing = request({ ...parseDockerHost(host), method, path, headers, agent: false });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  if (tar) await pipeline(tar, outgoing);
  else outgoing.end();
  const [answer] = await answered;
  return { status: answer.statusCode ?? 0, text: Buffer.concat(await answer.toArray()).toString() };
}

async function importTestImage(host: string): Promise<void> {
  if (await new DockerApi(host).hasImage(TEST_IMAGE)) return;
  await using root = await packTestRoot();
  await importImage(host, TEST_IMAGE, root.path);
}

/** `changes` are lines of a Dockerfile. */
export async function importImage(
  host: string,
  image: string,
  tarPath: string,
  changes: readonly string[] = [],
): Promise<void> {
  const [repo = '', tag = ''] = image.split(':');
  const query = new URLSearchParams({ fromSrc: '-', repo, tag });
  for (const change of changes) query.append('changes', change);
  const { status, text } = await callDocker(
    host,
    'POST',
    `/images/create?${query}`,
    createReadStream(tarPath),
  );
  if (status !== 200 || text.includes('errorDetail')) throw new Error(`${image} was not imported: ${text}`);
}
