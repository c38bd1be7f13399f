/**
 * The routes that servers on the same store use among each other: to check that it is this server, to read and
 * write the files of a run whose workspace is here, and to make it responsible for a run that has a reader here. For anybody else these
 * routes do not exist. They never ask a third server, so no request goes in circles.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type OpenWorkspace, type OpenWriter, requireWriter } from '../../engine/workspace-access.ts';
import type { TakenUp } from '../../peers/ask-to-take-up.ts';
import { PEER_HEADER, type PeerSeal } from '../../peers/peer-seal.ts';
import type { InlineWatch } from '../inline/inline-watch.ts';
import { PEER_PREFIX } from '../replies/forward-artifacts.ts';
import type { Authenticate } from '../requests/auth.ts';
import { installArtifactWriteRoutes } from './artifact-writes.ts';
import { installArtifactRoutes } from './artifacts.ts';

/** While this server works (for example, on the digest of a large file), the other one hears that it is busy. */
const SIGN_OF_LIFE_MS = 3_000;

export interface PeerOptions {
  seal: PeerSeal;
  serverId: string;
  openWorkspace: OpenWorkspace;
  openWriter: OpenWriter;
  /** The largest file that a request may write. */
  maxFileBytes: number;
  /** Asks the others whether one of them has a reader of the run and is responsible for it now. */
  isTakenUp(runId: string): Promise<boolean>;
}

export interface PeerRoutesOptions extends Omit<PeerOptions, 'isTakenUp'> {
  authenticate: Authenticate;
  /** Undefined if no clients are served. */
  watch?: InlineWatch | undefined;
}

export function installPeerRoutes(app: FastifyInstance, options: PeerRoutesOptions): void {
  const { seal, serverId, openWorkspace, openWriter, maxFileBytes, authenticate, watch } = options;
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    const question = { serverId, method: request.method, path: request.url };
    const answer = seal.recognize(question, request.headers[PEER_HEADER]);
    if (answer === undefined) {
      // The same as for any unknown path.
      authenticate(request);
      reply.callNotFound();
      return reply;
    }
    reply.header(PEER_HEADER, answer);
    showSignsOfLife(reply);
  };
  const forPeers = { config: { open: true }, onRequest };
  app.get(`${PEER_PREFIX}self`, forPeers, async () => ({ server_id: serverId }));
  app.post<{ Params: { run_id: string } }>(
    `${PEER_PREFIX}runs/:run_id/watch`,
    forPeers,
    async ({ params }): Promise<TakenUp> => ({ taken_up: watch?.takeUp(params.run_id) === true }),
  );
  installArtifactRoutes(app, {
    prefix: `${PEER_PREFIX}runs`,
    holder: 'run_id',
    options: forPeers,
    answer: async ({ id }, here) => here(await openWorkspace(id)),
  });
  installArtifactWriteRoutes(app, {
    prefix: `${PEER_PREFIX}runs`,
    options: forPeers,
    maxBytes: maxFileBytes,
    answer: async ({ id }, here) => here(requireWriter(await openWriter(id))),
  });
}

function showSignsOfLife({ raw }: FastifyReply): void {
  const timer = setInterval(() => {
    if (raw.headersSent) clearInterval(timer);
    else raw.writeProcessing();
  }, SIGN_OF_LIFE_MS);
  raw.once('close', () => clearInterval(timer));
}
