/**
 * What this process uses to work on runs: the model, the sandbox, the MCP servers. A process that works on no runs has
 * no workbench.
 *
 * The constructor opens nothing, but rejects bad model settings. After `open`, the sandbox takes commands. `start`
 * connects the MCP servers, and nothing waits for them.
 */
import { join } from 'node:path';
import {
  type BackendStats,
  LimitUnenforceableError,
  SandboxError,
  type ToolBackend,
  ToolExecutor,
  type TrajectoryWorkspaces,
  type WorkspaceReader,
  type WorkspaceWriter,
} from '@talaria/sandbox';
import { createGate, type Gate } from '../agent/approvals/gate.ts';
import { parseRule } from '../agent/approvals/matcher/command-rules.ts';
import type { Model } from '../agent/model/model.ts';
import { createSandboxCall, type SandboxCall } from '../agent/tools/sandbox-call.ts';
import { createSandboxTools } from '../agent/tools/sandbox-tools.ts';
import { todo } from '../agent/tools/todo.ts';
import { type Tool, ToolSet } from '../agent/tools/tool.ts';
import type { Check } from '../basics/check.ts';
import type { Log } from '../basics/log.ts';
import { TransientMap } from '../basics/transient-map.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { CheckpointMaker } from '../checkpoints/checkpoint-maker.ts';
import { LostSlots } from '../checkpoints/lost-slots.ts';
import { type Config, ConfigError } from '../config/index.ts';
import { settings } from '../config/settings.ts';
import type { Toolbox } from '../engine/run-worker.ts';
import type { Checkpoint } from '../journal/checkpoints.ts';
import type { Claim } from '../journal/journal.ts';
import type { McpServerHealth } from '../mcp/mcp-server.ts';
import { McpServers } from '../mcp/mcp-servers.ts';
import { RunWorkspace, type SharedPlaces } from '../peers/run-workspace.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { DirectoryMounts } from '../setup/directory-mounts.ts';
import { WorkspacePreparer } from '../setup/workspace-preparer.ts';
import type { Report } from '../telemetry/facts.ts';
import { createToolNames, type ToolNames } from '../telemetry/tool-names.ts';
import { checkMcp } from './checks/check-mcp.ts';
import { checkSandbox } from './checks/check-sandbox.ts';
import { configuredBackend } from './configured-backend.ts';
import { configuredModel } from './configured-model.ts';
import { limitsInBrief, unenforceable, unenforcedLimits } from './sandbox-limits.ts';
import { SandboxWorkspace } from './sandbox-workspace.ts';
import type { WorkDescription } from './server-handle.ts';

const MB = 1024 * 1024;

/** What the workbench needs from the store. */
export interface Stored {
  /** Knows the workspaces on other machines; undefined if no other server can have worked on a run. */
  shared: SharedPlaces | undefined;
  blobs: BlobStore;
  isUnfinished(runId: string): Promise<boolean>;
}

export interface WorkbenchOptions {
  secrets: Secrets;
  log: Log;
  report: Report;
}

export class Workbench {
  readonly model: Model;
  /** The tool names that metrics and traces may use. */
  readonly toolNames: ToolNames;
  readonly #config: Config;
  readonly #log: Log;
  readonly #report: Report;
  readonly #secrets: Secrets;
  readonly #backend: ToolBackend;
  readonly #executor: ToolExecutor;
  readonly #mcp: McpServers;
  readonly #mounts: DirectoryMounts;
  /** The runs that are worked on here. */
  readonly #worked = new TransientMap<RunWorkspace>();

  static async make(config: Config, options: WorkbenchOptions): Promise<Workbench> {
    const { secrets, log } = options;
    const model = configuredModel(config);
    const backend = await configuredBackend(config, join(config.dataDir, 'workspaces'), (message) =>
      log.warn({ part: 'sandbox' }, secrets.mask(message)),
    );
    return new Workbench(config, { model, backend, ...options });
  }

  private constructor(
    config: Config,
    { model, backend, secrets, log, report }: WorkbenchOptions & { model: Model; backend: ToolBackend },
  ) {
    this.#config = config;
    this.#log = log;
    this.#report = report;
    this.#secrets = secrets;
    this.model = model;
    this.#backend = backend;
    this.#executor = new ToolExecutor(this.#backend);
    this.#mounts = new DirectoryMounts({
      workspaces: backend.workspaces,
      directories: config.directories,
      log,
    });
    this.#mcp = new McpServers(config.mcpServers, {
      environment: process.env,
      toolTimeoutSeconds: config.toolTimeoutSeconds,
      secrets,
      log,
    });
    this.toolNames = createToolNames(
      this.#ownTools(createSandboxCall(this.#executor, '')).map(({ definition }) => definition.name),
      () => this.#mcp.list().map(({ definition }) => definition.name),
    );
  }

  /**
   * Resolves when the sandbox takes commands. A limit that it cannot enforce is a configuration error, and so is a directory that
   * it cannot mount.
   */
  async open(): Promise<void> {
    try {
      await this.#backend.start();
    } catch (error) {
      if (error instanceof LimitUnenforceableError) throw unenforceable(error.limits);
      if (!(error instanceof SandboxError) || error.code !== 'invalid_request') throw error;
      throw new ConfigError([`${settings.directories.env} has the mode mount: ${error.message}`]);
    }
  }

  /** Call it before anybody is served. */
  withdrawDirectories(ownerOf: (runId: string) => Promise<string | undefined>): Promise<void> {
    return this.#mounts.withdraw(ownerOf);
  }

  start(): void {
    this.#mcp.start();
  }

  async close(): Promise<void> {
    await this.#mcp.close();
    await this.#executor.stop();
    await this.#backend.stop();
  }

  gate(mounted: boolean): Gate {
    return createGate({
      isolated: this.#isolated,
      mounted,
      whenIsolated: this.#config.approvalsIsolated,
      whenUnisolated: this.#config.approvalsUnisolated,
      rules: {
        allow: this.#config.approvalsAllow.map(parseRule),
        ask: this.#config.approvalsAsk.map(parseRule),
        deny: this.#config.approvalsDeny.map(parseRule),
      },
    });
  }

  sandbox(): BackendStats {
    return this.#backend.stats();
  }

  mcpServers(): McpServerHealth[] {
    return this.#mcp.health();
  }

  /** Undefined for a run that has no workspace here. */
  openWorkspace(runId: string): Promise<WorkspaceReader | undefined> {
    return this.workspaces.open(runId);
  }

  /** Undefined for a run that has no workspace here and is not worked on here. */
  async openWriter(runId: string): Promise<WorkspaceWriter | undefined> {
    const existing = await this.workspaces.openWriter(runId);
    const place = this.#worked.get(runId);
    // While a workspace is being prepared, its files may be deleted at any moment.
    if (place?.isPreparing === true) return undefined;
    if (existing !== undefined || place === undefined) return existing;
    await place.place();
    return this.workspaces.openWriter(runId, { create: true });
  }

  /** For users of the sandbox without the agent. */
  get backend(): ToolBackend {
    return this.#backend;
  }

  get workspaces(): TrajectoryWorkspaces {
    return this.#backend.workspaces;
  }

  /**
   * The tools of a run. The first call that needs its slot acquires it, and the end releases it; the workspace stays.
   */
  async openTools(
    claim: Claim,
    unprepared: boolean,
    last: Checkpoint | undefined,
    { shared, blobs, isUnfinished }: Stored,
  ): Promise<Toolbox> {
    await this.#mcp.tried();
    const { runId } = claim;
    const place = new RunWorkspace(claim, { workspaces: this.workspaces, shared });
    place.isPreparing = unprepared;
    this.#worked.set(runId, place);
    const checkpoints = this.#config.checkpoints ? this.#checkpoints(runId, last, blobs) : undefined;
    // If a slot cannot be released, that is for its backend to handle, and not a failure of the run.
    const release = () =>
      this.#executor.release(runId).catch((error: unknown) => {
        this.#log.warn({ runId, err: error }, 'the sandbox of the run could not be released');
      });
    const lostSlots = new LostSlots({ release, checkpoints });
    const before = async () => {
      await lostSlots.settled();
      await place.place();
    };
    const recover = lostSlots.recover.bind(lostSlots);
    const tools = this.#ownTools(createSandboxCall(this.#executor, runId, { before, recover }));
    const isCurrent = () => this.#worked.get(runId) === place;
    const workspace = new SandboxWorkspace({
      ...{ claim, place, checkpoints, lostSlots, isCurrent, isUnfinished },
      workspaces: this.workspaces,
      executor: this.#executor,
      preparer: this.#preparer(blobs),
      mounts: this.#mounts,
      isUsedBy: (name) =>
        name !== todo.definition.name && tools.some(({ definition }) => definition.name === name),
      log: this.#log,
    });
    const close = () => {
      if (isCurrent()) this.#worked.delete(runId);
      return release();
    };
    return { tools: new ToolSet(tools, this.#mcp), workspace, close };
  }

  #preparer(blobs: BlobStore): WorkspacePreparer {
    const { workspaceSetupMb, workspaceSetupEntries } = this.#config;
    return new WorkspacePreparer({
      workspaces: this.workspaces,
      blobs,
      limits: { maxBytes: workspaceSetupMb * MB, maxEntries: workspaceSetupEntries },
      directories: this.#config.directories,
      allowNetwork: this.#config.allowNetwork,
      mask: this.#secrets.mask,
      log: this.#log,
    });
  }

  #checkpoints(runId: string, last: Checkpoint | undefined, blobs: BlobStore): CheckpointMaker {
    const {
      checkpointMaxBytes: maxBytes,
      checkpointMaxFileBytes: maxFileBytes,
      checkpointIgnore,
    } = this.#config;
    const ignore = (checkpointIgnore ?? '').split(',').flatMap((pattern) => pattern.trim() || []);
    return new CheckpointMaker(runId, last, {
      workspaces: this.workspaces,
      blobs,
      limits: { maxBytes, maxFileBytes, ignore },
      log: this.#log,
      report: this.#report,
    });
  }

  checks(): Record<string, Check> {
    return {
      sandbox: checkSandbox(this.#config.backend, this.sandbox()),
      model: { status: 'ok', detail: this.model.name },
      ...(this.#config.mcpServers.length === 0 ? {} : { mcp: checkMcp(this.mcpServers()) }),
    };
  }

  describe(): WorkDescription {
    const { isolation, limits } = this.sandbox();
    return {
      model: this.model.name,
      sandbox: isolation.description,
      isolated: this.#isolated,
      hardening: isolation.hardening ?? [],
      limits: limitsInBrief(limits),
      unenforcedLimits: unenforcedLimits(limits),
    };
  }

  get #isolated(): boolean {
    return this.sandbox().isolation.kind !== 'none';
  }

  #ownTools(call: SandboxCall): Tool[] {
    return [...createSandboxTools(call, this.#config.toolTimeoutSeconds), todo];
  }
}
