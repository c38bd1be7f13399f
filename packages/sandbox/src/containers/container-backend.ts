/**
 * Slots in Docker containers. HOW_IT_WORKS.md tells how the parts play together.
 *
 * A container holds `slotsPerContainer` slots, kept apart by the namespaces in which every command runs. Where those
 * cannot be made inside a container it holds one slot and ends with it. So slots are kept apart either way, and the
 * backend does not start where they would not be.
 */
import type { Readable } from 'node:stream';
import type {
  ArchiveArtifactsOptions,
  ArtifactArchive,
  ArtifactContent,
  ArtifactListing,
  ListArtifactsOptions,
  ReadArtifactOptions,
  WorkspaceReader,
} from '../artifacts.ts';
import type {
  AcquireOptions,
  BackendStats,
  ExecuteOptions,
  ExecutionRequest,
  ExecutionResult,
  Slot,
  ToolBackend,
} from '../backend.ts';
import { checkCallOptions } from '../check-options.ts';
import { checkTrajectoryId, slotIdOf } from '../check-request.ts';
import { DockerApi } from '../docker/docker-api.ts';
import { DEFAULT_DOCKER_HOST } from '../docker/docker-host.ts';
import type { DockerBackendOptions } from '../docker/docker-options.ts';
import { SandboxError } from '../errors.ts';
import { notRun } from '../not-run.ts';
import type {
  RestoredWorkspace,
  RestoreOptions,
  SnapshotOptions,
  SurveyOptions,
  WorkspaceSurvey,
} from '../snapshots.ts';
import { Digests } from '../workspace/artifacts/digests.ts';
import { LocalWorkspaceReader } from '../workspace/artifacts/local-workspace-reader.ts';
import { archiveArtifacts, listArtifacts, readArtifact } from '../workspace/artifacts/slot-artifacts.ts';
import { restoreTree } from '../workspace/snapshots/restore-tree.ts';
import { surveyTree } from '../workspace/snapshots/survey-tree.ts';
import { takeSnapshot } from '../workspace/snapshots/take-snapshot.ts';
import { Workspaces, workspaceName } from '../workspace/workspaces.ts';
import { HostDirectory } from './host-directory.ts';
import { RunningDocker } from './running-backend.ts';
import { sweep } from './sweep.ts';
import { WorkspacePlaces } from './workspace-places.ts';

const DEFAULT_TIMEOUT_S = 180;

export class DockerBackend implements ToolBackend {
  readonly defaultTimeoutS: number;
  readonly #options: DockerBackendOptions;
  readonly #api: DockerApi;
  readonly #digests = new Digests();
  /** `start` and `stop` happen in the order in which they were called. */
  #lifecycle: Promise<void> = Promise.resolve();
  #running: RunningDocker | undefined;

  constructor(options: DockerBackendOptions) {
    checkCallOptions(options);
    this.#options = options;
    this.#api = new DockerApi(options.dockerHost ?? DEFAULT_DOCKER_HOST);
    this.defaultTimeoutS = options.defaultTimeoutS ?? DEFAULT_TIMEOUT_S;
  }

  start(): Promise<void> {
    return this.#inOrder(async () => {
      const options = { ...this.#options, defaultTimeoutS: this.defaultTimeoutS };
      this.#running ??= await RunningDocker.start(this.#api, options);
    });
  }

  stop({ purge = false }: { purge?: boolean } = {}): Promise<void> {
    return this.#inOrder(async () => {
      const running = this.#running;
      this.#running = undefined;
      await running?.stop();
      if (purge) await this.#purge();
    });
  }

  async acquire(trajectoryId?: string, options: AcquireOptions = {}): Promise<Slot> {
    checkTrajectoryId(trajectoryId);
    return this.#started().pool.acquire(trajectoryId, options);
  }

  async release(slot: Slot, options: { resetWorkspace?: boolean } = {}): Promise<void> {
    await this.#running?.pool.release(slot, options);
  }

  async discard(trajectoryId: string): Promise<void> {
    await this.#started().pool.discard(trajectoryId);
  }

  async executeBatch(
    requests: readonly ExecutionRequest[],
    options: ExecuteOptions = {},
  ): Promise<ExecutionResult[]> {
    if (this.#running) return this.#running.execute(requests, options);
    return requests.map((request, index) => {
      const result = notRun('backend_down', 'The Docker backend is not started.', slotIdOf(request));
      options.onResult?.(result, index);
      return result;
    });
  }

  async readArtifact(slot: Slot, path: string, options: ReadArtifactOptions = {}): Promise<ArtifactContent> {
    return readArtifact(this.#readerOf(slot), path, options, this.defaultTimeoutS);
  }

  async listArtifacts(slot: Slot, path = '.', options: ListArtifactsOptions = {}): Promise<ArtifactListing> {
    return listArtifacts(this.#readerOf(slot), path, options, this.defaultTimeoutS);
  }

  async archiveArtifacts(
    slot: Slot,
    path = '.',
    options: ArchiveArtifactsOptions = {},
  ): Promise<ArtifactArchive> {
    return archiveArtifacts(this.#readerOf(slot), path, options, this.defaultTimeoutS);
  }

  async openWorkspace(trajectoryId: string): Promise<WorkspaceReader | undefined> {
    const running = this.#started();
    const name = workspaceName(trajectoryId);
    return (await running.places.exists(name)) ? this.#reader(running, name) : undefined;
  }

  async surveyWorkspace(
    trajectoryId: string,
    options: SurveyOptions = {},
  ): Promise<WorkspaceSurvey | undefined> {
    const { places } = this.#started();
    const name = workspaceName(trajectoryId);
    return (await places.exists(name)) ? surveyTree(() => places.dirOf(name), options) : undefined;
  }

  async snapshotWorkspace(
    trajectoryId: string,
    options: SnapshotOptions = {},
  ): Promise<Readable | undefined> {
    const { places } = this.#started();
    const name = workspaceName(trajectoryId);
    return (await places.exists(name)) ? takeSnapshot(() => places.dirOf(name), options) : undefined;
  }

  async restoreWorkspace(
    trajectoryId: string,
    snapshot: AsyncIterable<Uint8Array>,
    { signal }: RestoreOptions = {},
  ): Promise<RestoredWorkspace> {
    checkTrajectoryId(trajectoryId);
    const { pool, places } = this.#started();
    return pool.whileKept(trajectoryId, () =>
      places.replace(workspaceName(trajectoryId), (dir) => restoreTree(dir, snapshot, signal)),
    );
  }

  listWorkspaces(): Promise<string[]> {
    return this.#started().places.trajectories();
  }

  stats(): BackendStats {
    if (this.#running) return this.#running.stats();
    return {
      backend: 'docker',
      isolation: { kind: 'none', description: 'The backend is not started.' },
      limits: [],
      slots: { available: 0, acquired: 0, executing: 0, releasing: 0, error: 0 },
    };
  }

  #inOrder(action: () => Promise<void>): Promise<void> {
    this.#lifecycle = this.#lifecycle.then(action, action);
    return this.#lifecycle;
  }

  #started(): RunningDocker {
    if (this.#running) return this.#running;
    throw new SandboxError('backend_down', 'The Docker backend is not started.');
  }

  #readerOf(slot: Slot): WorkspaceReader {
    const running = this.#started();
    const held = running.pool.containerOf(slot)?.slots.get(slot.slotId);
    if (!held)
      throw new SandboxError('slot_gone', `The slot ${slot.slotId} was released, or its container died.`);
    return this.#reader(running, held.workspace);
  }

  #reader({ places, workspaceDirOf }: RunningDocker, name: string): WorkspaceReader {
    return new LocalWorkspaceReader(() => places.dirOf(name), workspaceDirOf(name), this.#digests);
  }

  async #purge(): Promise<void> {
    const workspaces = await Workspaces.open(this.#options.workspacesDir);
    // Without the directories nobody would know the containers that a crash left.
    if (await HostDirectory.exists(workspaces.baseDir)) await this.#sweep(workspaces);
    await workspaces.removeAll();
  }

  async #sweep(workspaces: Workspaces): Promise<void> {
    const { onTrouble = () => {} } = this.#options;
    const host = await HostDirectory.open(workspaces.baseDir);
    try {
      const places = new WorkspacePlaces(workspaces);
      await sweep({ api: this.#api, host, places, knows: () => false, onTrouble });
    } finally {
      await host.close();
    }
  }
}
