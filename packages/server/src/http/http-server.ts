/**
 * The HTTP side. In order, for each request: security headers, origin, who is asking, draining, then the route.
 * Routes see the engine's facade and nothing behind it.
 *
 * Fastify is given no schemas. The schemas of @talaria/protocol make the OpenAPI document (openapi-document.ts), and the
 * conformance suite checks answers against them; but which error comes first and in which words is fixed by the
 * contract, so the routes read their input with the functions of @talaria/protocol.
 */
import { TalariaError } from '@talaria/protocol';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { ApiKey } from '../config/index.ts';
import type { Engine } from '../engine/engine.ts';
import type { ScheduledJobs } from '../jobs/scheduled-jobs.ts';
import type { McpServerHealth } from '../mcp/mcp-server.ts';
import type { ResponseRuns } from '../responses/response-runs.ts';
import type { Report } from '../telemetry/facts.ts';
import { createAuthenticate } from './auth.ts';
import { answerBrokenRequest, installBrokenRequests } from './broken-requests.ts';
import { createAdmitOrigin, installCrossOrigin } from './cross-origin.ts';
import { installErrorHandling, sendError, toTalariaError } from './errors.ts';
import { EventStreams } from './event-streams.ts';
import { InlineRuns } from './inline/inline-runs.ts';
import { InlineWatch } from './inline/inline-watch.ts';
import { installMethodNotAllowed } from './method-not-allowed.ts';
import { installRequestReports } from './report-requests.ts';
import { installArtifactRoutes } from './routes/artifacts.ts';
import { installChatRoutes } from './routes/chat.ts';
import { installDiscoveryRoutes } from './routes/discovery.ts';
import { installEventRoutes } from './routes/events.ts';
import { type Check, installHealthRoutes } from './routes/health.ts';
import { installJobRoutes } from './routes/jobs.ts';
import { installMetricsRoute, type MetricsSource } from './routes/metrics.ts';
import { installResponseRoutes } from './routes/responses.ts';
import { installRunRoutes } from './routes/runs.ts';
import { installSessionRoutes } from './routes/sessions.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

const BODY_LIMIT_BYTES = 10_000_000;
/** For a request to arrive whole; the answer may take as long as it likes. */
const REQUEST_TIMEOUT_MS = 120_000;
/** The head of a request has at most 16 KB, so no id is too long for its route. */
const PARAM_MAX_LENGTH = 16_384;

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the API key the request came with. */
    owner: string;
  }
  interface FastifyContextConfig {
    /** Needs no key. */
    open?: boolean;
    /** Refused while draining. */
    startsWork?: boolean;
  }
}

export interface HttpServerOptions {
  engine: Engine;
  jobs: ScheduledJobs;
  responses: ResponseRuns;
  apiKeys: readonly ApiKey[];
  corsOrigins: '*' | readonly string[];
  modelName: string;
  subscriberBufferBytes: number;
  inlineGraceMs: number;
  version: string;
  checks(): Promise<Record<string, Check>>;
  mcpServers(): readonly McpServerHealth[];
  metrics: MetricsSource;
  report: Report;
  logger: FastifyBaseLogger;
}

export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { engine, apiKeys, corsOrigins, modelName, version } = options;
  const authenticate = createAuthenticate(apiKeys);
  const admitOrigin = createAdmitOrigin(corsOrigins);
  const app = Fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: PARAM_MAX_LENGTH },
    // Node's own answer to a missing host has neither body nor headers; see the hook below.
    http: { requireHostHeader: false },
    // Shutting down is start.ts's job: it decides how long what is open may go on.
    forceCloseConnections: true,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      // A request with such a URL meets no hook; what the hooks say comes first all the same.
      reply.headers(SECURITY_HEADERS);
      try {
        admitOrigin(request, reply);
        authenticate(request);
        throw new TalariaError('invalid_request', { message: 'The URL is not valid', cause: error });
      } catch (refusal) {
        void sendError(reply, toTalariaError(refusal as TalariaError));
      }
    },
    clientErrorHandler: answerBrokenRequest,
  });
  installBrokenRequests(app.server);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  installErrorHandling(app);
  installRequestReports(app, options.report);
  app.decorateRequest('owner', '');
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw new TalariaError('invalid_request', { message: "The header 'Host' is missing" });
    }
    // A body is bytes whatever its type says; Fastify would refuse a type it cannot read.
    delete request.raw.headers['content-type'];
  });
  installCrossOrigin(app, admitOrigin);
  app.addHook('onRequest', async (request) => {
    const { open, startsWork } = request.routeOptions.config;
    if (open !== true) request.owner = authenticate(request);
    if (startsWork === true && engine.draining)
      throw new TalariaError('gateway_draining', { retryAfterS: 1 });
  });

  const streams = new EventStreams(options.subscriberBufferBytes);
  const watch = new InlineWatch({
    graceMs: options.inlineGraceMs,
    stop: (owner, runId) => engine.stop(owner, runId),
    log: app.log,
  });
  const inline = new InlineRuns({ engine, watch, streams });
  app.addHook('preClose', async () => {
    await Promise.all([inline.close(), streams.close()]);
  });

  installMethodNotAllowed(app, () => {
    installHealthRoutes(app, { ...options, engine });
    installMetricsRoute(app, options.metrics);
    installDiscoveryRoutes(app, {
      version,
      modelName,
      authRequired: apiKeys.length > 0,
      cors: corsOrigins === '*' || corsOrigins.length > 0,
    });
    installRunRoutes(app, engine);
    installArtifactRoutes(app, engine);
    installSessionRoutes(app, engine.sessions);
    installJobRoutes(app, options.jobs);
    installEventRoutes(app, engine, streams);
    const keyConfigured = apiKeys.length > 0;
    const { responses } = options;
    installChatRoutes(app, { engine, journal: responses.journal, inline, modelName, keyConfigured });
    installResponseRoutes(app, { engine, responses, inline, keyConfigured });
  });
  return app;
}
