/** Backends for the Docker tests, each with its own directories, and facts about them that only the daemon knows. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionResult, Slot } from '../../backend.ts';
import { LABELS } from '../../containers/host-directory.ts';
import type { DockerBackendOptions } from '../docker-backend.ts';
import { DockerBackend } from '../docker-backend.ts';
import { callDocker, TEST_IMAGE, type TestDaemon } from './docker-daemon.ts';

export interface DockerTest extends AsyncDisposable {
  readonly daemon: TestDaemon;
  readonly workspacesDir: string;
  readonly backend: DockerBackend;
  readonly troubles: string[];
  bash(slot: Slot, command: string, more?: Record<string, unknown>): Promise<ExecutionResult>;
}

export interface ContainerDetails {
  Id: string;
  Name: string;
  Config: { User: string; Labels: Record<string, string> };
  HostConfig: Record<string, unknown>;
  State: { Running: boolean; Pid: number };
}

export async function createTest(
  daemon: TestDaemon,
  options: Partial<DockerBackendOptions> = {},
): Promise<DockerTest> {
  const workspacesDir = options.workspacesDir ?? (await mkdtemp(join(tmpdir(), 'talaria-docker-test-')));
  const troubles: string[] = [];
  const backend = new DockerBackend({
    ...{ workspacesDir, image: TEST_IMAGE, dockerHost: daemon.host },
    onTrouble: (message) => troubles.push(message),
    ...options,
  });
  return {
    ...{ daemon, workspacesDir, backend, troubles },
    async bash(slot, command, more = {}) {
      const [result] = await backend.executeBatch([[slot, 'bash', { command, ...more }]]);
      return result as ExecutionResult;
    },
    async [Symbol.asyncDispose]() {
      await backend.stop({ purge: true });
      await rm(workspacesDir, { recursive: true, force: true });
    },
  };
}

export async function startTest(
  daemon: TestDaemon,
  options: Partial<DockerBackendOptions> = {},
): Promise<DockerTest> {
  const created = await createTest(daemon, options);
  await created.backend.start();
  return created;
}

/** Every container of every server of ours, also those that do not run. */
export async function listContainers(daemon: TestDaemon): Promise<ContainerDetails[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [LABELS.server] }));
  const listed = await callDocker(daemon.host, 'GET', `/containers/json?all=1&filters=${filters}`);
  const ids = (JSON.parse(listed.text) as { Id: string }[]).map(({ Id }) => Id);
  const found = await Promise.all(ids.map((id) => inspectContainer(daemon, id)));
  return found.filter((each) => each !== undefined);
}

export async function inspectContainer(
  daemon: TestDaemon,
  id: string,
): Promise<ContainerDetails | undefined> {
  const { status, text } = await callDocker(daemon.host, 'GET', `/containers/${id}/json`);
  return status === 200 ? (JSON.parse(text) as ContainerDetails) : undefined;
}

export function newTrajectory(): string {
  return `trajectory ${randomUUID()}`;
}
