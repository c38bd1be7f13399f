/**
 * The HTTP side. In order, for each request: security headers, origin, who is asking, draining, then the route.
 * Routes see the engine's facade and nothing behind it.
 *
 * Fastify's own validation is switched off: the schemas describe the routes (OpenAPI) and the conformance suite
 * checks answers against them, but which error comes first and in which words is fixed by the contract, so the
 * routes read their input with the functions of @talaria/protocol.
 */
import { TalariaError, toErrorBody } from '@talaria/protocol';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Engine } from '../engine/engine.ts';
import { type ApiKey, createAuthenticate } from './auth.ts';
import { installCrossOrigin } from './cross-origin.ts';
import { installErrorHandling, sendError } from './errors.ts';
import { installMethodNotAllowed } from './method-not-allowed.ts';
import { installOpenApi } from './openapi.ts';
import { installDiscoveryRoutes } from './routes/discovery.ts';
import { installEventRoutes } from './routes/events.ts';
import { type Check, installHealthRoutes } from './routes/health.ts';
import { installRunRoutes } from './routes/runs.ts';

const BODY_LIMIT_BYTES = 10_000_000;
/** For a request to arrive whole; the answer may take as long as it likes. */
const REQUEST_TIMEOUT_MS = 120_000;

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

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
  apiKeys: readonly ApiKey[];
  corsOrigins: '*' | readonly string[];
  modelName: string;
  subscriberBufferBytes: number;
  version: string;
  checks(): Promise<Record<string, Check>>;
  logger: FastifyBaseLogger;
}

export async function createHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const { engine, apiKeys, corsOrigins, modelName, version } = options;
  const app = Fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: 1000 },
    // Shutting down is start.ts's job: it decides how long what is open may go on.
    forceCloseConnections: true,
    return503OnClosing: false,
    frameworkErrors: (error, _request, reply) => {
      void sendError(
        reply,
        new TalariaError('invalid_request', { message: 'The URL is not valid', cause: error }),
      );
    },
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
      const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
      const status = tooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request';
      const body = JSON.stringify(
        toErrorBody(new TalariaError('invalid_request', { message: 'The request is not valid HTTP' })),
      );
      socket.end(
        `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
      );
    },
  });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  installErrorHandling(app);
  const authenticate = createAuthenticate(apiKeys);
  app.decorateRequest('owner', '');
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(SECURITY_HEADERS);
  });
  installCrossOrigin(app, corsOrigins);
  app.addHook('onRequest', async (request) => {
    const { open, startsWork } = request.routeOptions.config;
    if (open !== true) request.owner = authenticate(request);
    if (startsWork === true && engine.draining)
      throw new TalariaError('gateway_draining', { retryAfterS: 1 });
  });

  await installOpenApi(app, version);
  installMethodNotAllowed(app, () => {
    installHealthRoutes(app, { version, engine, checks: options.checks });
    installDiscoveryRoutes(app, {
      modelName,
      authRequired: apiKeys.length > 0,
      cors: corsOrigins === '*' || corsOrigins.length > 0,
    });
    installRunRoutes(app, engine);
    installEventRoutes(app, engine, options.subscriberBufferBytes);
  });
  return app;
}
