/** The configured HTTP server of a process. The role decides which routes it has: health and metrics are always there. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { embeddingsEndpoint } from '../agent/model/embeddings-endpoint.ts';
import type { Check } from '../basics/check.ts';
import { version } from '../basics/version.ts';
import type { Config } from '../config/index.ts';
import type { Engine } from '../engine/engine.ts';
import type { RunWork } from '../engine/run-work.ts';
import type { ApiOptions } from '../http/api-routes.ts';
import { createHttpServer } from '../http/http-server.ts';
import type { MetricsSource } from '../http/routes/metrics.ts';
import type { PeerOptions } from '../http/routes/peer-routes.ts';
import type { SlotSource } from '../http/routes/slots.ts';
import { builtDirectory, readBuiltFiles } from '../http/ui/built-files.ts';
import { ScheduledJobs, type ScheduledJobsOptions } from '../jobs/scheduled-jobs.ts';
import { patientFetch } from '../network/patient-fetch.ts';
import type { PeerGroup } from '../peers/peer-group.ts';
import { ResponseRuns } from '../responses/response-runs.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { listDirectories } from '../setup/list-directories.ts';
import type { ClientSlots } from '../slots/client-slots.ts';
import type { Report } from '../telemetry/facts.ts';
import { checkDisk } from './checks/check-disk.ts';
import { checkStore } from './checks/check-store.ts';
import { configuredFiles } from './configured-files.ts';
import { type Store, storeName } from './configured-store.ts';
import { modelSettings } from './model-settings.ts';
import type { Workbench } from './workbench.ts';

const SECOND_MS = 1000;

export interface HttpParts {
  engine: Engine;
  store: Store;
  /** Undefined if the process works on no runs; then it has no slots either. */
  workbench: Workbench | undefined;
  work: RunWork | undefined;
  slots: ClientSlots | undefined;
  peers: PeerGroup | undefined;
  jobs: Pick<ScheduledJobsOptions, 'store' | 'startRun'>;
  metrics: MetricsSource;
  secrets: Secrets;
  log: Logger;
  report: Report;
}

export function configuredHttp(config: Config, parts: HttpParts): FastifyInstance {
  const { engine, store, workbench, work, peers, metrics, log, report } = parts;
  return createHttpServer({
    engine,
    role: config.role,
    apiKeys: config.apiKeys,
    corsOrigins: config.corsOrigins,
    maxBodiesBytes: config.maxBodiesMb * 1_000_000,
    version,
    // The command has already said in better words what the framework logs at level info.
    logger: log.child({}, { level: config.logLevel === 'info' ? 'warn' : config.logLevel }),
    mcpServers: () => workbench?.mcpServers() ?? [],
    metrics,
    report,
    checks: async (): Promise<Record<string, Check>> => {
      const [storeCheck, others] = await Promise.all([
        checkStore(store.journal, storeName(config)),
        peers?.check(),
      ]);
      return {
        store: storeCheck,
        ...(work && { disk: checkDisk(work.disk.state) }),
        ...workbench?.checks(),
        ...(others && { peers: others }),
      };
    },
    peers: peers && peerOptions(config, peers, parts),
    ui: config.ui ? readBuiltFiles(builtDirectory()) : undefined,
    slots: slotSource(config.role, parts),
    api: config.role === 'work' ? undefined : apiOptions(config, parts),
  });
}

function peerOptions(config: Config, peers: PeerGroup, { workbench, work }: HttpParts): PeerOptions {
  return {
    ...peers.identity,
    openWorkspace: async (runId) => workbench?.openWorkspace(runId),
    openWriter: async (runId) => work?.openWriter(runId),
    maxFileBytes: config.maxFileBytes,
    isTakenUp: (runId) => peers.isTakenUp(runId),
  };
}

/**
 * Slots are where the sandbox is: a process that only serves clients says so, and one that only works has no route for
 * them unless it gives out slots.
 */
function slotSource(
  role: Config['role'],
  { slots, workbench, secrets }: Pick<HttpParts, 'slots' | 'workbench' | 'secrets'>,
): SlotSource | undefined {
  if (slots !== undefined && workbench !== undefined) {
    const { backend } = workbench;
    return { slots, files: backend, workspaces: backend.workspaces, mask: secrets.mask };
  }
  if (role === 'work') return undefined;
  return role === 'http' ? 'no_sandbox' : 'slots_unavailable';
}

function apiOptions(config: Config, { engine, store, workbench, jobs, secrets }: HttpParts): ApiOptions {
  return {
    responses: new ResponseRuns({
      engine,
      journal: store.journal,
      secrets,
      modelName: config.modelName,
      maxStored: config.maxStoredResponses,
    }),
    journal: store.journal,
    files: configuredFiles(config, store),
    jobs: new ScheduledJobs({ ...jobs, maxJobs: config.maxJobs, timezone: () => config.timezone }),
    modelName: config.modelName,
    listDirectories: (owner) => listDirectories(config.directories, owner),
    embeddings: {
      endpoint: embeddingsEndpoint(modelSettings(config)),
      model: config.embeddingModel,
      fetch: patientFetch,
      mask: secrets.mask,
    },
    maxFileBytes: config.maxFileBytes,
    subscriberBufferBytes: config.subscriberBufferBytes,
    inlineGraceMs: config.inlineGraceSeconds * SECOND_MS,
    tellApprovals: config.tellApprovals,
    // If runs are worked on here, they had the time already.
    inlineDrainMs: workbench === undefined ? config.drainSeconds * SECOND_MS : 0,
  };
}
