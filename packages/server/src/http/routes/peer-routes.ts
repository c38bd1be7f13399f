/**
 * What servers on the same store ask each other: the files of a run whose workspace is here. For anybody else these routes
 * do not exist. Nothing is asked of a third server, so no request goes in circles.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OpenWorkspace } from '../../engine/engine.ts';
import { PEER_HEADER, type PeerSeal } from '../../peers/peer-seal.ts';
import type { Authenticate } from '../auth.ts';
import { PEER_PREFIX } from '../forward-artifacts.ts';
import { installArtifactRoutes } from './artifacts.ts';

/** While the digest of a large file is made, say, the other hears that this server is at it. */
const SIGN_OF_LIFE_MS = 3_000;

export interface PeerRoutesOptions {
  seal: PeerSeal;
  serverId: string;
  openWorkspace: OpenWorkspace;
}

export function installPeerRoutes(
  app: FastifyInstance,
  { seal, serverId, openWorkspace }: PeerRoutesOptions,
  authenticate: Authenticate,
): void {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    const question = { serverId, method: request.method, path: request.url };
    const answer = seal.recognize(question, request.headers[PEER_HEADER]);
    if (answer === undefined) {
      // As on any other path that is none.
      authenticate(request);
      reply.callNotFound();
      return reply;
    }
    reply.header(PEER_HEADER, answer);
    showSignsOfLife(reply);
  };
  installArtifactRoutes(app, {
    prefix: `${PEER_PREFIX}runs`,
    options: { config: { open: true }, onRequest },
    answer: async ({ params }, _, here) => here(await openWorkspace(params.run_id)),
  });
}

function showSignsOfLife({ raw }: FastifyReply): void {
  const timer = setInterval(() => {
    if (raw.headersSent) clearInterval(timer);
    else raw.writeProcessing();
  }, SIGN_OF_LIFE_MS);
  raw.once('close', () => clearInterval(timer));
}
