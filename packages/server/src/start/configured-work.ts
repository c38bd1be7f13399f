/** The work on runs that the settings ask for, with the tools of a workbench. */
import { SYSTEM_PROMPT } from '../agent/system-prompt.ts';
import type { Config } from '../config/index.ts';
import { RunWork, type RunWorkOptions } from '../engine/run-work.ts';
import type { WorkerDependencies } from '../engine/run-worker.ts';
import type { Workbench } from './workbench.ts';

const SECOND_MS = 1000;

export interface WorkParts
  extends Pick<RunWorkOptions, 'serverId' | 'journal' | 'beforeEviction' | 'pace' | 'log' | 'report'>,
    Pick<WorkerDependencies, 'openTools' | 'mask' | 'secrets'> {
  workbench: Workbench;
}

export function configuredWork(
  config: Config,
  { workbench, openTools, mask, secrets, ...parts }: WorkParts,
): RunWork {
  return new RunWork({
    ...parts,
    maxConcurrentRuns: config.maxConcurrentRuns,
    leaseMs: config.leaseSeconds * SECOND_MS,
    retentionMs: config.runRetentionSeconds * SECOND_MS,
    sessionRetentionMs: config.sessionRetentionSeconds * SECOND_MS,
    discardWorkspace: (runId) => workbench.workspaces.discard(runId),
    worker: {
      model: workbench.model,
      gate: workbench.gate,
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
      mask,
      secrets,
    },
  });
}
