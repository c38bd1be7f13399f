/**
 * Assembles a server. Its parts name no drivers: only this folder makes them, and the checks of `talaria doctor` try them.
 *
 * The role decides what a process consists of. Every process has the store, the engine and a port with health and
 * metrics. A process that serves clients has the API behind that port. A process that works has a workbench, and with
 * it claims runs, starts jobs and sends webhooks.
 *
 * Starting: the lock, store and sandbox, then HTTP. Only when the port is ours, the work on runs and jobs begins and
 * the MCP servers connect, which nothing waits for. Stopping, in reverse: no new runs, hand over the unfinished ones
 * within the limit, close the connections, the MCP servers, the sandbox, the store.
 */
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isTerminalStatus } from '@talaria/protocol';
import { pino } from 'pino';
import { embeddingsEndpoint } from '../agent/model/embeddings-endpoint.ts';
import type { Check } from '../basics/check.ts';
import { version } from '../basics/version.ts';
import { StoredCheckpoints } from '../checkpoints/stored-checkpoints.ts';
import { type Config, configSecrets } from '../config/index.ts';
import { Engine } from '../engine/engine.ts';
import { QueuePace } from '../engine/pace.ts';
import type { OpenWorkspace, OpenWriter } from '../engine/workspace-access.ts';
import { lockFile } from '../files/file-lock.ts';
import { makeDirectory } from '../files/make-directory.ts';
import { createHttpServer } from '../http/http-server.ts';
import { OPEN_OWNER } from '../http/requests/auth.ts';
import type { SlotService, SlotSource } from '../http/routes/slots.ts';
import { builtDirectory, readBuiltFiles } from '../http/ui/built-files.ts';
import { JobScheduler } from '../jobs/job-scheduler.ts';
import { ScheduledJobs } from '../jobs/scheduled-jobs.ts';
import { patientFetch } from '../network/patient-fetch.ts';
import { advertisedUrl } from '../peers/advertised-url.ts';
import { PeerGroup } from '../peers/peer-group.ts';
import { ResponseRuns } from '../responses/response-runs.ts';
import { keepSnapshot } from '../responses/snapshots.ts';
import { Secrets } from '../secrets/secrets.ts';
import { listDirectories } from '../setup/list-directories.ts';
import { resolveRequest } from '../setup/resolve-workspace.ts';
import { Telemetry } from '../telemetry/telemetry.ts';
import { createToolNames } from '../telemetry/tool-names.ts';
import { chooseWebhook } from '../webhooks/choose-webhook.ts';
import { Deliverer } from '../webhooks/deliverer.ts';
import { checkStore } from './checks/check-store.ts';
import { configuredFiles } from './configured-files.ts';
import { configuredSlots } from './configured-slots.ts';
import { openConfiguredStore, storeName, storeWarnings } from './configured-store.ts';
import { configuredTraces } from './configured-traces.ts';
import { configuredWork } from './configured-work.ts';
import { modelSettings } from './model-settings.ts';
import type { ServerHandle } from './server-handle.ts';
import { readServerId } from './server-id.ts';
import { Workbench } from './workbench.ts';

const SECOND_MS = 1000;

export async function startServer(config: Config): Promise<ServerHandle> {
  await using opened = new AsyncDisposableStack();
  const { role } = config;
  const secrets = new Secrets(configSecrets(config));
  // To stderr, so that what the command prints for people on stdout stays readable.
  const log = pino({ level: config.logLevel, base: null }, pino.destination({ fd: 2, sync: true }));

  const telemetry = new Telemetry(log);
  const { report } = telemetry;

  // Before anything is opened or created: settings that name no model are rejected here.
  const workbench = role === 'http' ? undefined : await Workbench.make(config, { secrets, log, report });

  makeDirectory(config.dataDir);
  const lock = lockFile(
    join(config.dataDir, 'server.lock'),
    `The data directory ${config.dataDir} is in use by another server: stop that one, or give this one its own TALARIA_DATA_DIR`,
  );
  opened.defer(() => lock.release());
  const serverId = readServerId(config.dataDir);

  const opening = openConfiguredStore(config, {
    serverId,
    report,
    onFatal(error) {
      log.fatal(
        { err: error },
        'the store has failed; the server ends, and unfinished runs continue after a restart',
      );
      process.exit(1);
    },
  });
  // These take a while, mostly waiting for others (a thread, a first command): time to load the telemetry meanwhile.
  const loadingMetrics = import('../telemetry/prometheus/metrics.ts');
  const [store, bench, measuring] = await Promise.allSettled([opening, workbench?.open(), loadingMetrics]);
  if (store.status === 'fulfilled') opened.defer(() => store.value.journal.close());
  if (bench.status === 'fulfilled') opened.defer(() => workbench?.close());
  for (const part of [store, bench, measuring]) if (part.status === 'rejected') throw part.reason;
  const { journal, blobs } = await opening;
  const slots = workbench && config.slots ? configuredSlots(config, workbench.backend, log) : undefined;
  opened.defer(() => slots?.drain(0));

  const { Metrics } = await loadingMetrics;
  const toolNames = workbench?.toolNames ?? createToolNames([], () => []);
  const metrics = new Metrics({
    version,
    role,
    tools: toolNames,
    gauges: {
      load: () => engine.load(),
      ...(workbench && { sandbox: () => workbench.sandbox(), mcpServers: () => workbench.mcpServers() }),
    },
  });
  telemetry.add(metrics.report);
  const traces = await configuredTraces(config, { tools: toolNames, mask: secrets.mask, log });
  if (traces !== undefined) {
    telemetry.add(traces.report);
    opened.defer(() => traces.close());
  }

  const peers =
    journal.peers &&
    new PeerGroup({
      peers: journal.peers,
      self: { serverId, role, version, maxRuns: workbench === undefined ? 0 : config.maxConcurrentRuns },
      workspaces: workbench?.workspaces,
      retentionMs: config.runRetentionSeconds * SECOND_MS,
      log,
    });
  const isUnfinished = async (runId: string): Promise<boolean> => {
    const run = await journal.getRun(runId);
    return run !== undefined && !isTerminalStatus(run.state.status);
  };
  const pace = new QueuePace(Date.now);
  const work =
    workbench &&
    configuredWork(config, {
      workbench,
      serverId,
      journal,
      blobs,
      openTools: (claim, unprepared, last) =>
        workbench.openTools(claim, unprepared, last, { shared: peers?.places, blobs, isUnfinished }),
      beforeEviction: (runId) => keepSnapshot(journal, secrets, runId),
      pace,
      secrets,
      log,
      report,
    });

  const webhooks = {
    url: config.webhookUrl,
    secret: config.webhookSecret,
    allowPrivate: config.webhookAllowPrivate,
  };
  const openWorkspace: OpenWorkspace = async (runId) => workbench?.openWorkspace(runId);
  const openWriter: OpenWriter = async (runId) => workbench?.openWriter(runId);
  const ignoredSettings = workbench?.model.ignoredSettings ?? [];
  const engine = new Engine({
    journal,
    modelName: config.modelName,
    maxQueuedRuns: config.maxQueuedRuns,
    owners: Math.max(1, config.apiKeys.length),
    contextTokens: config.contextTokens,
    secrets,
    openWorkspace,
    openWriter,
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

  const jobs = { store: journal.jobs, startRun: engine.creation.startJobRun };
  const owners = new Set(config.apiKeys.length === 0 ? [OPEN_OWNER] : config.apiKeys.map(({ name }) => name));
  const scheduler =
    work && new JobScheduler({ ...jobs, isServed: (owner) => owners.has(owner), log, report });
  const deliverer =
    work &&
    new Deliverer({
      outbox: journal.outbox,
      defaultUrl: webhooks.url,
      secret: webhooks.secret,
      allowPrivate: webhooks.allowPrivate,
      userAgent: `talaria/${version}`,
      log,
      report,
    });
  opened.defer(() => deliverer?.stop());

  const http = createHttpServer({
    engine,
    role,
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
      const [store, others] = await Promise.all([checkStore(journal, storeName(config)), peers?.check()]);
      return { store, ...workbench?.checks(), ...(others && { peers: others }) };
    },
    peers: peers && {
      ...peers.identity,
      openWorkspace,
      openWriter,
      maxFileBytes: config.maxFileBytes,
      isTakenUp: (runId) => peers.isTakenUp(runId),
    },
    ui: config.ui ? readBuiltFiles(builtDirectory()) : undefined,
    slots: slotSource(role, slots && { slots, files: workbench!.backend, mask: secrets.mask }),
    api:
      role === 'work'
        ? undefined
        : {
            responses: new ResponseRuns({
              engine,
              journal,
              secrets,
              modelName: config.modelName,
              maxStored: config.maxStoredResponses,
            }),
            files: configuredFiles(config, { journal, blobs }),
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
            inlineDrainMs: work === undefined ? config.drainSeconds * SECOND_MS : 0,
          },
  });
  // Other servers may ask it until the end, so it announces its end when nobody can ask any more.
  opened.defer(() => peers?.stop());
  opened.defer(() => http.close());
  const { host } = config;
  const ownerOf = async (runId: string) => (await journal.getRun(runId))?.owner;
  await Promise.all([peers?.checkAlone(), slots?.start(), workbench?.withdrawDirectories(ownerOf)]);
  const url = await http.listen({ host, port: config.port });
  const { port } = http.server.address() as AddressInfo;
  await peers?.start(config.advertiseUrl ?? advertisedUrl({ host, port }));
  workbench?.start();
  for (const part of [work, deliverer, scheduler]) part?.start();

  const stack = opened.move();
  let closing: Promise<void> | undefined;
  return {
    url,
    describe: () => ({
      role,
      store: storeName(config),
      storeWarnings: storeWarnings(config),
      work: workbench?.describe(),
    }),
    close() {
      closing ??= (async () => {
        engine.beginDraining();
        const drainMs = config.drainSeconds * SECOND_MS;
        await Promise.all([scheduler?.stop(), work?.drain(drainMs), slots?.drain(drainMs)]);
        await stack.disposeAsync();
      })();
      return closing;
    },
  };
}

/**
 * Slots are where the sandbox is: a process that only serves clients says so, and one that only works has no route for
 * them unless it gives out slots.
 */
function slotSource(role: Config['role'], service: SlotService | undefined): SlotSource | undefined {
  if (service !== undefined) return service;
  return role === 'work' ? undefined : role === 'http' ? 'no_sandbox' : 'slots_unavailable';
}
