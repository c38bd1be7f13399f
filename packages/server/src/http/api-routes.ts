/** All routes for clients (runs, sessions, jobs, responses), without health and metrics. */
import type { FastifyInstance } from 'fastify';
import { atMost } from '../basics/at-most.ts';
import type { ApiKey } from '../config/index.ts';
import type { Engine } from '../engine/engine.ts';
import type { ScheduledJobs } from '../jobs/scheduled-jobs.ts';
import type { Journal } from '../journal/journal.ts';
import type { ResponseRuns } from '../responses/response-runs.ts';
import type { UploadedFiles } from '../uploads/uploaded-files.ts';
import { ContinuedRuns } from './inline/continued-runs.ts';
import { InlineRuns } from './inline/inline-runs.ts';
import { InlineWatch } from './inline/inline-watch.ts';
import { answerAsOf } from './replies/as-of.ts';
import { createForwardArtifacts } from './replies/forward-artifacts.ts';
import { isGiven } from './requests/query.ts';
import { installApprovalRoutes } from './routes/approvals.ts';
import { installArtifactWriteRoutes } from './routes/artifact-writes.ts';
import { installArtifactRoutes } from './routes/artifacts.ts';
import { installChatRoutes } from './routes/chat.ts';
import { installCompletionRoutes } from './routes/completions.ts';
import { installConversationRoutes } from './routes/conversations.ts';
import { installDiffRoutes } from './routes/diff.ts';
import { installDiscoveryRoutes } from './routes/discovery.ts';
import { type EmbeddingsOptions, installEmbeddingRoutes } from './routes/embeddings.ts';
import { installEventRoutes } from './routes/events.ts';
import { installFeedRoutes } from './routes/feed.ts';
import { installFileRoutes } from './routes/files.ts';
import { type InventoryOptions, installInventoryRoutes } from './routes/inventory.ts';
import { installJobRoutes } from './routes/jobs.ts';
import type { PeerOptions } from './routes/peer-routes.ts';
import { installResponseRoutes } from './routes/responses.ts';
import { installRunRoutes } from './routes/runs.ts';
import { installSessionChatRoutes } from './routes/session-chat.ts';
import { installSessionRoutes } from './routes/sessions.ts';
import { EventStreams } from './streams/event-streams.ts';

export interface ApiOptions {
  files: UploadedFiles;
  jobs: ScheduledJobs;
  responses: ResponseRuns;
  /** Where the logs of runs are read. */
  journal: Pick<Journal, 'readLog' | 'readEvents'>;
  modelName: string;
  embeddings: EmbeddingsOptions;
  subscriberBufferBytes: number;
  /** The largest file that a request may write into a workspace. */
  maxFileBytes: number;
  listDirectories: InventoryOptions['listDirectories'];
  inlineGraceMs: number;
  /** Whether streams of chats and responses show approval requests as text. */
  tellApprovals: boolean;
  /** How long a shutdown waits for answers in progress that no other server can continue. */
  inlineDrainMs: number;
}

export interface ApiContext extends ApiOptions {
  peers: Pick<PeerOptions, 'seal' | 'isTakenUp'> | undefined;
  mcpServers: InventoryOptions['mcpServers'];
  /** Whether this process gives out slots. */
  slots: boolean;
  version: string;
  apiKeys: readonly ApiKey[];
  corsOrigins: '*' | readonly string[];
}

/** The routes for other servers. */
export interface InstalledApi {
  watch: InlineWatch;
}

export function installApiRoutes(app: FastifyInstance, engine: Engine, api: ApiContext): InstalledApi {
  const { jobs, responses, modelName, version, apiKeys, corsOrigins, peers } = api;
  const forwardArtifacts = peers && createForwardArtifacts(peers.seal);
  const keyConfigured = apiKeys.length > 0;
  const streams = new EventStreams(api.subscriberBufferBytes);
  const watch = new InlineWatch({
    graceMs: api.inlineGraceMs,
    stop: (owner, runId) => engine.stop(owner, runId),
    isTakenUp: async (runId) => (await peers?.isTakenUp(runId)) === true,
    log: app.log,
  });
  const inline = new InlineRuns({ engine, watch, streams });
  app.addHook('preClose', async () => {
    await atMost(api.inlineDrainMs, inline.answered());
    await Promise.all([inline.close(), streams.close()]);
  });

  installDiscoveryRoutes(app, {
    version,
    modelName,
    authRequired: keyConfigured,
    cors: corsOrigins === '*' || corsOrigins.length > 0,
    embeddings: 'url' in api.embeddings.endpoint,
    slots: api.slots,
    checkpoints: engine.workspaces.keepsCheckpoints,
  });
  const { mcpServers, listDirectories } = api;
  installInventoryRoutes(app, { modelName, mcpServers, listDirectories });
  installRunRoutes(app, engine);
  installApprovalRoutes(app, engine.approvals);
  installArtifactRoutes(app, {
    prefix: '/v1/runs',
    holder: 'run_id',
    options: {},
    answer: async ({ request, reply, id }, here) => {
      if (isGiven(request.query, 'at')) {
        return answerAsOf(
          await engine.workspaces.findCheckpoints(request.owner, id),
          { request, reply },
          here,
        );
      }
      const found = await engine.workspaces.find(request.owner, id);
      // Files that are not here are on a peer.
      return 'reader' in found ? here(found.reader) : forwardArtifacts!(request, reply, found.place);
    },
  });
  installArtifactWriteRoutes(app, {
    prefix: '/v1/runs',
    options: {},
    maxBytes: api.maxFileBytes,
    answer: async ({ request, reply, id }, here) => {
      const found = await engine.workspaces.findWriter(request.owner, id);
      return 'writer' in found ? here(found.writer) : forwardArtifacts!(request, reply, found.place);
    },
  });
  installDiffRoutes(app, engine);
  installSessionRoutes(app, engine.sessions);
  installSessionChatRoutes(app, { engine, inline, modelName, keyConfigured });
  installJobRoutes(app, jobs);
  installFileRoutes(app, api.files);
  installEventRoutes(app, engine, streams);
  installFeedRoutes(app, engine.feed, streams);
  const { journal, tellApprovals } = api;
  const chat = { engine, journal, inline, modelName, keyConfigured };
  const continued = new ContinuedRuns({ engine, journal });
  installChatRoutes(app, { ...chat, continued, tellApprovals });
  installCompletionRoutes(app, chat);
  installEmbeddingRoutes(app, api.embeddings);
  installConversationRoutes(app, responses);
  installResponseRoutes(app, { engine, responses, journal, inline, continued, keyConfigured, tellApprovals });
  return { watch };
}
