/**
 * The configured work on runs, with the tools of a workbench. What a worker needs is assembled here, once, and passed
 * on as a whole.
 */
import { priceOf } from '../agent/price.ts';
import { SYSTEM_PROMPT } from '../agent/system-prompt.ts';
import type { Log } from '../basics/log.ts';
import type { QueuePace } from '../basics/queue-pace.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { keptSandboxes } from '../config/backend-rules.ts';
import type { Config } from '../config/index.ts';
import { RunWork } from '../engine/run-work.ts';
import type { WorkerDependencies } from '../engine/run-worker.ts';
import { halfOfDisk } from '../files/half-of-disk.ts';
import type { Journal } from '../journal/journal.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Report } from '../telemetry/facts.ts';
import type { Workbench } from './workbench.ts';

const SECOND_MS = 1000;

export interface WorkParts {
  workbench: Workbench;
  serverId: string;
  journal: Journal;
  blobs: BlobStore;
  openTools: WorkerDependencies['openTools'];
  beforeEviction(runId: string): Promise<void>;
  pace: QueuePace;
  secrets: Secrets;
  log: Log;
  report: Report;
}

export function configuredWork(config: Config, parts: WorkParts): RunWork {
  const { workbench, serverId, blobs, beforeEviction, pace } = parts;
  return new RunWork({
    serverId,
    blobs,
    dependencies: workerDependencies(config, parts),
    maxConcurrentRuns: config.maxConcurrentRuns,
    maxKeptSandboxes: keptSandboxes(config),
    leaseMs: config.leaseSeconds * SECOND_MS,
    retentionMs: config.runRetentionSeconds * SECOND_MS,
    headRetentionMs: config.runHeadRetentionSeconds * SECOND_MS,
    sessionRetentionMs: config.sessionRetentionSeconds * SECOND_MS,
    openWriter: (runId) => workbench.openWriter(runId),
    discardWorkspace: (runId) => workbench.workspaces.discard(runId),
    diskUsage: (runId) => workbench.workspaces.diskUsage(runId),
    runDiskBytes: config.runDiskBytes ?? halfOfDisk(config.dataDir),
    beforeEviction,
    pace,
  });
}

function workerDependencies(
  config: Config,
  { workbench, journal, openTools, secrets, log, report }: WorkParts,
): WorkerDependencies {
  return {
    journal,
    model: workbench.model,
    price: priceOf(config.prices, workbench.model.name),
    gate: (mounted) => workbench.gate(mounted),
    systemPrompt: config.instructions ?? SYSTEM_PROMPT,
    limits: {
      maxSteps: config.maxSteps,
      maxTokens: config.maxRunTokens,
      contextTokens: config.contextTokens,
      maxRunMs: config.maxRunSeconds * SECOND_MS,
      modelRetries: config.modelRetries,
      modelIdleMs: config.modelIdleSeconds * SECOND_MS,
      approvalTimeoutMs: config.approvalTimeoutSeconds * SECOND_MS,
      clientToolTimeoutMs: config.clientToolTimeoutSeconds * SECOND_MS,
    },
    openTools,
    sharesSessionFiles: config.checkpoints && config.sessionWorkspace === 'shared',
    secrets,
    report,
    log,
    now: Date.now,
  };
}
