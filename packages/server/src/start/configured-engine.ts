/** The configured engine of a process, whatever its role: `work` is there only if the process works on runs. */

import type { QueuePace } from '../basics/queue-pace.ts';
import { StoredCheckpoints } from '../checkpoints/stored-checkpoints.ts';
import type { Config } from '../config/index.ts';
import { Engine } from '../engine/engine.ts';
import type { RunWork } from '../engine/run-work.ts';
import type { PeerGroup } from '../peers/peer-group.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { resolveRequest } from '../setup/resolve-workspace.ts';
import type { Report } from '../telemetry/facts.ts';
import { chooseWebhook, type WebhookSettings } from '../webhooks/choose-webhook.ts';
import type { Store } from './configured-store.ts';
import type { Workbench } from './workbench.ts';

const SECOND_MS = 1000;

export interface EngineParts {
  store: Store;
  workbench: Workbench | undefined;
  work: RunWork | undefined;
  peers: PeerGroup | undefined;
  pace: QueuePace;
  webhooks: WebhookSettings;
  secrets: Secrets;
  report: Report;
}

export function configuredEngine(
  config: Config,
  { store: { journal, blobs }, workbench, work, peers, pace, webhooks, secrets, report }: EngineParts,
): Engine {
  const ignoredSettings = workbench?.model.ignoredSettings ?? [];
  return new Engine({
    journal,
    modelName: config.modelName,
    retentionMs: config.runRetentionSeconds * SECOND_MS,
    maxQueuedRuns: config.maxQueuedRuns,
    owners: Math.max(1, config.apiKeys.length),
    contextTokens: config.contextTokens,
    secrets,
    openWorkspace: async (runId) => workbench?.openWorkspace(runId),
    openWriter: async (runId) => work?.openWriter(runId),
    findElsewhere: async (runId) => peers?.findElsewhere(runId),
    checkpoints: config.checkpoints ? new StoredCheckpoints({ journal, blobs }) : undefined,
    sharesSessionFiles: config.sessionWorkspace === 'shared',
    resolveRequest: (owner, request) =>
      resolveRequest(owner, request, { files: journal.files, directories: config.directories }),
    chooseWebhook: (request) => chooseWebhook(request, webhooks),
    clientSettings: config.clientModelSettings.filter((name) => !ignoredSettings.includes(name)),
    pace,
    work,
    report,
  });
}
