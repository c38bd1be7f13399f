/**
 * The real HTTP server, engine facade and feeds on a journal, without anything that works on runs: the holder of the
 * journal appends to them.
 */
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { DirectoryBlobs } from '../../packages/server/src/blobs/directory-blobs.ts';
import { Engine } from '../../packages/server/src/engine/engine.ts';
import { QueuePace } from '../../packages/server/src/engine/pace.ts';
import { createHttpServer } from '../../packages/server/src/http/http-server.ts';
import { ScheduledJobs } from '../../packages/server/src/jobs/scheduled-jobs.ts';
import type { Journal } from '../../packages/server/src/journal/journal.ts';
import { ResponseRuns } from '../../packages/server/src/responses/response-runs.ts';
import { Secrets } from '../../packages/server/src/secrets/secrets.ts';
import { noReport } from '../../packages/server/src/telemetry/facts.ts';
import { UploadedFiles } from '../../packages/server/src/uploads/uploaded-files.ts';

/** Returns the port. */
export async function serveJournal(journal: Journal): Promise<number> {
  const log = pino({ level: 'warn', base: null }, pino.destination({ fd: 2, sync: true }));
  const engine = new Engine({
    journal,
    modelName: 'bench',
    maxQueuedRuns: 1,
    owners: 1,
    contextTokens: 0,
    secrets: new Secrets([]),
    openWorkspace: async () => undefined,
    openWriter: async () => undefined,
    resolveRequest: async (_owner, request) => ({ request, workspace: undefined }),
    chooseWebhook: () => undefined,
    pace: new QueuePace(Date.now),
  });
  const http = createHttpServer({
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
        startRun: engine.startJobRun,
        maxJobs: 0,
        timezone: () => 'UTC',
      }),
      responses: new ResponseRuns({
        engine,
        journal,
        secrets: new Secrets([]),
        modelName: 'bench',
        maxStored: 1,
      }),
      modelName: 'bench',
      embeddings: { endpoint: { unavailable: 'none here' }, model: undefined, fetch, mask: (text) => text },
      maxFileBytes: 1,
      subscriberBufferBytes: 1_048_576,
      tellApprovals: true,
      inlineGraceMs: 0,
      inlineDrainMs: 0,
    },
    apiKeys: [],
    corsOrigins: [],
    version: 'bench',
    logger: log,
    checks: async () => ({}),
    mcpServers: () => [],
    metrics: { contentType: 'text/plain', render: async () => '' },
    report: noReport,
  });
  await http.listen({ host: '127.0.0.1', port: 0 });
  return (http.server.address() as AddressInfo).port;
}
