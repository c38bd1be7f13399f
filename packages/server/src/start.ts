/**
 * Puts a server together: the only place that names concrete drivers, beside configured-store.ts and configured-backend.ts.
 *
 * Starting: model, the lock, store and sandbox, HTTP, and only when the port is ours the work on runs and jobs and the MCP
 * servers, which nobody waits for. Stopping, in reverse: no new runs, hand over the unfinished ones within the limit, close the
 * connections, the MCP servers, the sandbox, the store.
 */
import { join } from 'node:path';
import { LimitUnenforceableError, type ToolBackend, ToolExecutor } from '@talaria/sandbox';
import { pino } from 'pino';
import { createGate } from './agent/approvals/gate.ts';
import { SYSTEM_PROMPT } from './agent/system-prompt.ts';
import { createSandboxCall, type SandboxCall } from './agent/tools/sandbox-call.ts';
import { createSandboxTools } from './agent/tools/sandbox-tools.ts';
import { todo } from './agent/tools/todo.ts';
import { type FurtherTools, type Tool, ToolSet } from './agent/tools/tool.ts';
import { checkMcp } from './checks/check-mcp.ts';
import { checkSandbox } from './checks/check-sandbox.ts';
import { checkStore } from './checks/check-store.ts';
import type { ServerHandle } from './cli/serve.ts';
import { type Config, configSecrets } from './config/index.ts';
import { configuredBackend } from './configured-backend.ts';
import { configuredModel } from './configured-model.ts';
import { openConfiguredStore, storeName } from './configured-store.ts';
import { configuredTraces } from './configured-traces.ts';
import { Engine } from './engine/engine.ts';
import type { Toolbox } from './engine/run-worker.ts';
import { lockFile } from './file-lock.ts';
import { OPEN_OWNER } from './http/auth.ts';
import { createHttpServer } from './http/http-server.ts';
import type { Check } from './http/routes/health.ts';
import { JobScheduler } from './jobs/job-scheduler.ts';
import { ScheduledJobs } from './jobs/scheduled-jobs.ts';
import type { Log } from './log.ts';
import { makeDirectory } from './make-directory.ts';
import { McpServers } from './mcp/mcp-servers.ts';
import { redactSecrets } from './redact-secrets.ts';
import { createMasking } from './responses/masking.ts';
import { ResponseRuns } from './responses/response-runs.ts';
import { keepSnapshot } from './responses/snapshots.ts';
import { limitsInBrief, unenforceable, unenforcedLimits } from './sandbox-limits.ts';
import { Telemetry } from './telemetry/telemetry.ts';
import { createToolNames } from './telemetry/tool-names.ts';
import { version } from './version.ts';
import { chooseWebhook } from './webhooks/choose-webhook.ts';
import { Deliverer } from './webhooks/deliverer.ts';

const SECOND_MS = 1000;

export async function startServer(config: Config): Promise<ServerHandle> {
  await using opened = new AsyncDisposableStack();
  const secrets = configSecrets(config);
  const mask = (text: string): string => redactSecrets(text, secrets);
  // To stderr, so that what the command prints for people on stdout stays readable.
  const log = pino({ level: config.logLevel, base: null }, pino.destination({ fd: 2, sync: true }));

  // Before anything is opened or made: settings that name no model are settled here.
  const model = configuredModel(config);

  const telemetry = new Telemetry(log);
  const { report } = telemetry;

  makeDirectory(config.dataDir);
  const lock = lockFile(
    join(config.dataDir, 'server.lock'),
    `The data directory ${config.dataDir} is in use by another server: stop that one, or give this one its own TALARIA_DATA_DIR`,
  );
  opened.defer(() => lock.release());

  const opening = openConfiguredStore(config, {
    report,
    onFatal(error) {
      log.fatal(
        { err: error },
        'the store has failed; the server ends, and unfinished runs go on after a restart',
      );
      process.exit(1);
    },
  });
  const backend = configuredBackend(config, join(config.dataDir, 'workspaces'), (message) =>
    log.warn({ part: 'sandbox' }, mask(message)),
  );
  // They take a while, mostly waiting for others: a thread, a first command. Time to load what measures them.
  const loadingMetrics = import('./telemetry/prometheus/metrics.ts');
  const [store, sandbox, measuring] = await Promise.allSettled([opening, backend.start(), loadingMetrics]);
  if (store.status === 'fulfilled') opened.defer(() => store.value.close());
  if (sandbox.status === 'fulfilled') opened.defer(() => backend.stop());
  for (const part of [store, sandbox, measuring]) {
    if (part.status === 'fulfilled') continue;
    const { reason } = part;
    throw reason instanceof LimitUnenforceableError ? unenforceable(reason.limits) : reason;
  }
  const executor = new ToolExecutor(backend);
  opened.defer(() => executor.stop());
  const journal = await opening;
  const { isolation, limits } = backend.stats();
  const isolated = isolation.kind !== 'none';

  const mcp = new McpServers(config.mcpServers, {
    environment: process.env,
    toolTimeoutSeconds: config.toolTimeoutSeconds,
    secrets,
    mask,
    log,
  });
  opened.defer(() => mcp.close());

  const { Metrics } = await loadingMetrics;
  const toolNames = createToolNames(
    ownTools(createSandboxCall(executor, ''), config.toolTimeoutSeconds).map(
      ({ definition }) => definition.name,
    ),
    () => mcp.list().map(({ definition }) => definition.name),
  );
  const metrics = new Metrics({
    version,
    tools: toolNames,
    gauges: {
      load: () => engine.load(),
      sandbox: () => backend.stats(),
      mcpServers: () => mcp.health(),
    },
  });
  telemetry.add(metrics.report);
  const traces = await configuredTraces(config, { tools: toolNames, mask, log });
  if (traces !== undefined) {
    telemetry.add(traces.report);
    opened.defer(() => traces.close());
  }

  const webhooks = {
    url: config.webhookUrl,
    secret: config.webhookSecret,
    allowPrivate: config.webhookAllowPrivate,
  };
  const deliverer = new Deliverer({
    outbox: journal.outbox,
    defaultUrl: webhooks.url,
    secret: webhooks.secret,
    allowPrivate: webhooks.allowPrivate,
    userAgent: `talaria/${version}`,
    log,
    report,
  });
  opened.defer(() => deliverer.stop());

  const masking = createMasking(secrets);
  const engine = new Engine({
    journal,
    modelName: config.modelName,
    maxConcurrentRuns: config.maxConcurrentRuns,
    maxQueuedRuns: config.maxQueuedRuns,
    owners: Math.max(1, config.apiKeys.length),
    leaseMs: config.leaseSeconds * SECOND_MS,
    retentionMs: config.runRetentionSeconds * SECOND_MS,
    sessionRetentionMs: config.sessionRetentionSeconds * SECOND_MS,
    discardWorkspace: (runId) => backend.discard(runId),
    openWorkspace: (runId) => backend.openWorkspace(runId),
    chooseWebhook: (request) => chooseWebhook(request, webhooks),
    beforeEviction: (runId) => keepSnapshot(journal, masking, runId),
    log,
    report,
    worker: {
      model,
      gate: createGate({
        isolated,
        whenIsolated: config.approvalsIsolated,
        whenUnisolated: config.approvalsUnisolated,
      }),
      systemPrompt: config.instructions ?? SYSTEM_PROMPT,
      limits: {
        maxSteps: config.maxSteps,
        maxTokens: config.maxRunTokens,
        contextTokens: config.contextTokens,
        maxRunMs: config.maxRunSeconds * SECOND_MS,
        modelRetries: config.modelRetries,
        modelIdleMs: config.modelIdleSeconds * SECOND_MS,
        approvalTimeoutMs: config.approvalTimeoutSeconds * SECOND_MS,
      },
      async openTools(runId) {
        await mcp.tried();
        return openTools(runId, {
          backend,
          executor,
          maxTimeoutS: config.toolTimeoutSeconds,
          further: mcp,
          log,
        });
      },
      mask,
      secrets,
    },
  });

  const jobs = { store: journal.jobs, startRun: engine.startJobRun };
  const owners = new Set(config.apiKeys.length === 0 ? [OPEN_OWNER] : config.apiKeys.map(({ name }) => name));
  const scheduler = new JobScheduler({ ...jobs, isServed: (owner) => owners.has(owner), log, report });

  const responses = new ResponseRuns({
    engine,
    journal,
    masking,
    modelName: config.modelName,
    maxStored: config.maxStoredResponses,
  });
  const http = createHttpServer({
    engine,
    responses,
    jobs: new ScheduledJobs({ ...jobs, maxJobs: config.maxJobs, timezone: config.timezone }),
    apiKeys: config.apiKeys,
    corsOrigins: config.corsOrigins,
    modelName: config.modelName,
    subscriberBufferBytes: config.subscriberBufferBytes,
    inlineGraceMs: config.inlineGraceSeconds * SECOND_MS,
    version,
    // What the framework has to say at the level info, the command has said in better words.
    logger: log.child({}, { level: config.logLevel === 'info' ? 'warn' : config.logLevel }),
    mcpServers: () => mcp.health(),
    metrics,
    report,
    checks: async (): Promise<Record<string, Check>> => ({
      store: await checkStore(journal, storeName(config)),
      sandbox: checkSandbox(backend.stats()),
      model: { status: 'ok', detail: model.name },
      ...(config.mcpServers.length === 0 ? {} : { mcp: checkMcp(mcp.health()) }),
    }),
  });
  opened.defer(() => http.close());
  const url = await http.listen({ host: config.host, port: config.port });
  mcp.start();
  engine.start();
  deliverer.start();
  scheduler.start();

  const stack = opened.move();
  let closing: Promise<void> | undefined;
  return {
    url,
    describe: () => ({
      model: model.name,
      store: storeName(config),
      sandbox: isolation.description,
      isolated,
      limits: limitsInBrief(limits),
      unenforcedLimits: unenforcedLimits(limits),
    }),
    close() {
      closing ??= (async () => {
        await scheduler.stop();
        await engine.drain(config.drainSeconds * SECOND_MS);
        await stack.disposeAsync();
      })();
      return closing;
    },
  };
}

interface ToolSources {
  backend: ToolBackend;
  executor: ToolExecutor;
  maxTimeoutS: number;
  further: FurtherTools;
  log: Log;
}

function ownTools(call: SandboxCall, maxTimeoutS: number): Tool[] {
  return [...createSandboxTools(call, maxTimeoutS), todo];
}

/** The tools of a run. Its slot is taken at the first call that needs it and given back at the end; the workspace stays. */
function openTools(runId: string, { backend, executor, maxTimeoutS, further, log }: ToolSources): Toolbox {
  const call = createSandboxCall(executor, runId);
  const tools = ownTools(call, maxTimeoutS);
  const usesWorkspace = (name: string): boolean =>
    name !== todo.definition.name && tools.some(({ definition }) => definition.name === name);
  return {
    tools: new ToolSet(tools, further),
    async hasLostWorkspace(conversation) {
      const used = conversation.some(
        (message) => message.role === 'tool' && !message.is_error && usesWorkspace(message.tool),
      );
      return used && (await backend.openWorkspace(runId)) === undefined;
    },
    // What is wrong with a slot that cannot be given back is its backend's to deal with, and no failure of the run.
    close: () =>
      executor.release(runId).catch((error: unknown) => {
        log.warn({ runId, err: error }, 'the sandbox of the run could not be given back');
      }),
  };
}
