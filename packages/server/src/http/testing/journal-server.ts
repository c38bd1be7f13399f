/**
 * The real HTTP server, engine facade and feeds on a journal, without anything that works on runs: the holder of the
 * journal appends to them.
 */
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { QueuePace } from '../../basics/queue-pace.ts';
import { DirectoryBlobs } from '../../blobs/directory-blobs.ts';
import type { ApiKey } from '../../config/index.ts';
import { Engine, type EngineOptions } from '../../engine/engine.ts';
import { ScheduledJobs } from '../../jobs/scheduled-jobs.ts';
import type { Journal } from '../../journal/journal.ts';
import { ResponseRuns } from '../../responses/response-runs.ts';
import { Secrets } from '../../secrets/secrets.ts';
import { noReport } from '../../telemetry/facts.ts';
import { UploadedFiles } from '../../uploads/uploaded-files.ts';
import { createHttpServer } from '../http-server.ts';

export interface JournalServerOptions extends Partial<EngineOptions> {
  apiKeys?: readonly ApiKey[];
}

export function createJournalServer(
  journal: Journal,
  { apiKeys = [], ...options }: JournalServerOptions = {},
): FastifyInstance {
  const secrets = new Secrets([]);
  const modelName = 'test';
  const engine = new Engine({
    journal,
    modelName,
    retentionMs: 604_800_000,
    maxQueuedRuns: 1,
    owners: 1,
    contextTokens: 0,
    sharesSessionFiles: true,
    secrets,
    openWorkspace: async () => undefined,
    openWriter: async () => undefined,
    resolveRequest: async (_owner, request) => ({ request, workspace: undefined }),
    chooseWebhook: () => undefined,
    pace: new QueuePace(Date.now),
    ...options,
  });
  return createHttpServer({
    engine,
    role: 'http',
    maxBodiesBytes: 256_000_000,
    peers: undefined,
    api: {
      files: new UploadedFiles({
        files: journal.files,
        blobs: new DirectoryBlobs({ path: '/nowhere' }),
        limits: { maxFileBytes: 0, maxFiles: 0, maxBytes: 0 },
      }),
      jobs: new ScheduledJobs({
        store: journal.jobs,
        startRun: engine.creation.startJobRun,
        maxJobs: 0,
        timezone: () => 'UTC',
      }),
      journal,
      responses: new ResponseRuns({ engine, journal, secrets, modelName, maxStored: 1 }),
      modelName,
      embeddings: { endpoint: { unavailable: 'none here' }, model: undefined, fetch, mask: (text) => text },
      maxFileBytes: 1,
      listDirectories: async () => [],
      subscriberBufferBytes: 1_048_576,
      tellApprovals: true,
      inlineGraceMs: 0,
      inlineDrainMs: 0,
    },
    apiKeys,
    corsOrigins: [],
    version: 'test',
    logger: pino({ level: 'warn', base: null }, pino.destination({ fd: 2, sync: true })),
    checks: async () => ({}),
    mcpServers: () => [],
    metrics: { contentType: 'text/plain', render: async () => '' },
    report: noReport,
  });
}
