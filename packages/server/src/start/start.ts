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
import { QueuePace } from '../basics/queue-pace.ts';
import { version } from '../basics/version.ts';
import { type Config, configSecrets } from '../config/index.ts';
import { lockFile } from '../files/file-lock.ts';
import { makeDirectory } from '../files/make-directory.ts';
import { OPEN_OWNER } from '../http/requests/auth.ts';
import { JobScheduler } from '../jobs/job-scheduler.ts';
import { advertisedUrl } from '../peers/advertised-url.ts';
import { PeerGroup } from '../peers/peer-group.ts';
import { keepSnapshot } from '../responses/snapshots.ts';
import { Secrets } from '../secrets/secrets.ts';
import { Telemetry } from '../telemetry/telemetry.ts';
import { createToolNames } from '../telemetry/tool-names.ts';
import { Deliverer } from '../webhooks/deliverer.ts';
import { configuredEngine } from './configured-engine.ts';
import { configuredHttp } from './configured-http.ts';
import { configuredSlots } from './configured-slots.ts';
import { openConfiguredStore, storeName, storeWarnings } from './configured-store.ts';
import { configuredTraces } from './configured-traces.ts';
import { configuredWork } from './configured-work.ts';
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
  const [stored, bench, measuring] = await Promise.allSettled([opening, workbench?.open(), loadingMetrics]);
  if (stored.status === 'fulfilled') opened.defer(() => stored.value.journal.close());
  if (bench.status === 'fulfilled') opened.defer(() => workbench?.close());
  for (const part of [stored, bench, measuring]) if (part.status === 'rejected') throw part.reason;
  const store = await opening;
  const { journal, blobs } = store;
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
  const parts = { store, workbench, peers, secrets, report };
  const engine = configuredEngine(config, { ...parts, work, pace, webhooks });

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

  const http = configuredHttp(config, { ...parts, work, engine, slots, jobs, metrics, log });
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
