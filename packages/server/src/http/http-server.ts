/**
 * The HTTP side. The order for each request: security headers, origin, authentication, draining, then the route. Routes
 * see the engine's facade and nothing behind it. Health and metrics exist in every role; the client routes
 * (api-routes.ts) only in a process that serves clients, and slots only where there is a sandbox.
 *
 * Fastify gets no schemas (no-schemas.ts). The schemas of @talaria/protocol make the OpenAPI document
 * (openapi/openapi-document.ts), and the conformance suite checks responses against them. But the contract fixes which error
 * comes first and with which message, so the routes read their input with the functions of @talaria/protocol.
 */
import { TalariaError } from '@talaria/protocol';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { ApiKey } from '../config/index.ts';
import type { Report } from '../telemetry/facts.ts';
import { type ApiOptions, type InstalledApi, installApiRoutes } from './api-routes.ts';
import { NO_SCHEMAS } from './no-schemas.ts';
import { answerBrokenRequest, installBrokenRequests } from './replies/broken-requests.ts';
import { installErrorHandling, sendError, toTalariaError } from './replies/errors.ts';
import { SECURITY_HEADERS } from './replies/security-headers.ts';
import { AllowedMethods } from './requests/allowed-methods.ts';
import { createAuthenticate } from './requests/auth.ts';
import { BodyBudget, type BodyCharge, RequestBody } from './requests/body-budget.ts';
import { createAdmitOrigin, installCrossOrigin } from './requests/cross-origin.ts';
import { decodeBody } from './requests/decode-body.ts';
import { installRequestReports } from './requests/report-requests.ts';
import { requestIdOf } from './requests/request-id.ts';
import { installStreamedBodies, STREAMED } from './requests/streamed-body.ts';
import { type HealthOptions, installHealthRoutes } from './routes/health.ts';
import { installMetricsRoute, type MetricsSource } from './routes/metrics.ts';
import { installPeerRoutes, type PeerOptions } from './routes/peer-routes.ts';
import { installSlotRoutes, type SlotSource } from './routes/slots.ts';
import { installUiRoutes } from './routes/ui.ts';
import type { BuiltFiles } from './ui/built-files.ts';

const BODY_LIMIT_BYTES = 10_000_000;
/** The time for a whole request to arrive; the response may take as long as it needs. */
const REQUEST_TIMEOUT_MS = 120_000;
/** The head of a request has at most 16 KB, so no id is too long for its route. */
const PARAM_MAX_LENGTH = 16_384;

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the request's API key. */
    owner: string;
    bodyCharge?: BodyCharge;
  }
  interface FastifyContextConfig {
    /** Needs no key, or none for some requests. */
    open?: boolean | ((request: FastifyRequest) => boolean);
    /** Refused while draining. */
    startsWork?: boolean;
    /** The route reads its body as a stream (streamed-body.ts). */
    streamsBody?: boolean;
  }
}

export interface HttpServerOptions extends HealthOptions {
  apiKeys: readonly ApiKey[];
  corsOrigins: '*' | readonly string[];
  metrics: MetricsSource;
  /** How many bytes of request bodies are held at once. */
  maxBodiesBytes: number;
  report: Report;
  logger: FastifyBaseLogger;
  /** For other servers on the same store; undefined if there are none. */
  peers: PeerOptions | undefined;
  /** For clients that use the sandbox without the agent; undefined if these routes do not exist. */
  slots?: SlotSource | undefined;
  /** The web page; undefined if it is switched off. */
  ui?: BuiltFiles | undefined;
  /** For clients; undefined if other processes serve them. */
  api: ApiOptions | undefined;
}

export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { engine, apiKeys, corsOrigins, version, api, peers, mcpServers, slots, ui } = options;
  const authenticate = createAuthenticate(apiKeys);
  const admitOrigin = createAdmitOrigin(corsOrigins);
  const app = Fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    schemaController: NO_SCHEMAS,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: PARAM_MAX_LENGTH },
    // Node's own response to a missing host has neither body nor headers; see the hook below.
    http: { requireHostHeader: false },
    // Shutdown belongs to start.ts, which decides how long open requests may continue.
    forceCloseConnections: true,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      // A request with such a URL reaches no hook, but the checks of the hooks come first all the same.
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
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
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    const decoded = await decodeBody(body, request.headers['content-encoding'], BODY_LIMIT_BYTES);
    return new RequestBody(decoded, request.bodyCharge);
  });

  installStreamedBodies(app);

  const allowed = new AllowedMethods();
  installErrorHandling(app, api === undefined ? 'no_api' : 'not_found', allowed);
  installRequestReports(app, options.report);
  app.decorateRequest('owner', '');
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
    expectOneHost(request);
    // A body is read as bytes whatever its content type; Fastify would refuse a type it cannot read.
    delete request.raw.headers['content-type'];
    if (request.routeOptions.config.streamsBody === true) request.raw.headers['content-type'] = STREAMED;
  });
  installCrossOrigin(app, admitOrigin);
  app.addHook('onRequest', async (request) => {
    const { open, startsWork } = request.routeOptions.config;
    const needsKey = typeof open === 'function' ? !open(request) : open !== true;
    if (needsKey) request.owner = authenticate(request);
    if (startsWork === true && engine.draining)
      throw new TalariaError('gateway_draining', { retryAfterS: 1 });
  });
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 && allowed.refuse(request.method, request.url.split('?', 1)[0] ?? ''))
      reply.callNotFound();
  });

  const budget = new BodyBudget({
    maxBytes: options.maxBodiesBytes,
    // One body always has room: a body of unknown length is charged with the maximum.
    maxBytesPerOwner:
      apiKeys.length > 1 ? Math.max(options.maxBodiesBytes / 2, BODY_LIMIT_BYTES) : options.maxBodiesBytes,
  });
  app.decorateRequest('bodyCharge');
  app.addHook('preParsing', async (request, reply) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    // The body of a GET is never read, and its response may be a stream of hours.
    const isRead = request.method !== 'GET' && request.method !== 'HEAD';
    if (
      !isRead ||
      request.routeOptions.config.streamsBody === true ||
      (length === undefined && coding === undefined)
    )
      return;
    // A compressed body may be as large as any other after decompression.
    const isKnown = length !== undefined && request.headers['content-encoding'] === undefined;
    const bytes = isKnown ? Math.min(Number(length), BODY_LIMIT_BYTES) : BODY_LIMIT_BYTES;
    const charge = budget.charge(request.owner, bytes);
    request.bodyCharge = charge;
    reply.raw.once('close', () => charge.release());
  });

  // A kept-alive connection would bring the client's next request here.
  app.addHook('onSend', async (_request, reply) => {
    if (engine.draining) reply.header('connection', 'close');
  });

  let installed: InstalledApi | undefined;
  allowed.record(app, () => {
    installHealthRoutes(app, options);
    installMetricsRoute(app, options.metrics);
    if (slots !== undefined) installSlotRoutes(app, slots);
    installed =
      api &&
      installApiRoutes(app, engine, {
        ...api,
        version,
        apiKeys,
        corsOrigins,
        peers,
        mcpServers,
        slots: typeof slots === 'object',
      });
  });
  // Not part of the API: a program that sends something else to these paths gets the 404 it always got.
  if (api !== undefined && ui !== undefined) installUiRoutes(app, ui);
  // Separate from the others: a client that is not a peer does not even learn which methods exist.
  if (peers !== undefined) installPeerRoutes(app, { ...peers, ...installed, authenticate });
  return app;
}

/** With two hosts, a proxy and this server might each believe a different one. */
function expectOneHost({ raw }: FastifyRequest): void {
  const hosts = raw.rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts === 1 || (hosts === 0 && raw.httpVersion !== '1.1')) return;
  const message = hosts === 0 ? "The header 'Host' is missing" : "The header 'Host' must be given once";
  throw new TalariaError('invalid_request', { message });
}
