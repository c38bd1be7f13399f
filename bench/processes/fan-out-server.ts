/**
 * The server of the fan-out rows: the real HTTP server, engine facade, feeds and SQLite file, and in place of the
 * agent a source that appends events as they fall due. Through the agent a run shows at most fifty texts a second,
 * since it gathers them for 20 ms: too few to find out what the fan-out can do.
 */
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createRunId } from '@talaria/protocol';
import { pino } from 'pino';
import { Engine } from '../../packages/server/src/engine/engine.ts';
import { QueuePace } from '../../packages/server/src/engine/pace.ts';
import { createHttpServer } from '../../packages/server/src/http/http-server.ts';
import { ScheduledJobs } from '../../packages/server/src/jobs/scheduled-jobs.ts';
import type { NewRecord } from '../../packages/server/src/journal/records.ts';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';
import { createMasking } from '../../packages/server/src/responses/masking.ts';
import { ResponseRuns } from '../../packages/server/src/responses/response-runs.ts';
import { noReport } from '../../packages/server/src/telemetry/facts.ts';
import { type Produce, produce } from './event-source.ts';
import { announce } from './listen.ts';

const [directory, runId = createRunId()] = process.argv.slice(2);
if (directory === undefined) throw new Error('expected a directory');

const HOUR_MS = 3_600_000;
const log = pino({ level: 'warn', base: null }, pino.destination({ fd: 2, sync: true }));
const journal = await SqliteJournal.open({ path: join(directory, 'talaria.db') });

const engine = new Engine({
  journal,
  modelName: 'bench',
  maxQueuedRuns: 1,
  owners: 1,
  contextTokens: 0,
  mask: (text) => text,
  secrets: [],
  openWorkspace: async () => undefined,
  chooseWebhook: () => undefined,
  pace: new QueuePace(Date.now),
});

const http = createHttpServer({
  engine,
  role: 'http',
  peers: undefined,
  api: {
    jobs: new ScheduledJobs({
      store: journal.jobs,
      startRun: engine.startJobRun,
      maxJobs: 0,
      timezone: 'UTC',
    }),
    responses: new ResponseRuns({
      engine,
      journal,
      masking: createMasking([]),
      modelName: 'bench',
      maxStored: 1,
    }),
    modelName: 'bench',
    subscriberBufferBytes: 1_048_576,
    inlineGraceMs: 0,
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

const request = { prompt: 'bench', session_named: false };
await journal.createRun(
  { runId, owner: 'local', sessionId: runId, request },
  { maxQueued: 1, ownerShare: 1 },
);
const [claim] = await journal.claim('bench', HOUR_MS, 1);
if (claim === undefined) throw new Error('The run could not be claimed');

process.on('message', (wanted: Produce) => {
  produce(wanted, (texts) => {
    const records = texts.map((delta): NewRecord => ({ event: 'message.delta', public: { delta } }));
    void journal.append(claim, records);
  });
});
announce((http.server.address() as AddressInfo).port);
