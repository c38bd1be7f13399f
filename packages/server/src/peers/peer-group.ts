/** This server among those that share its store: that it is there, who else is, and where the workspaces of runs are. */
import type { Check } from '../http/routes/health.ts';
import { type KnownServer, type Peers, type Place, SILENT_MS } from '../journal/peers.ts';
import type { Log } from '../log.ts';
import { askToTakeUp } from './ask-to-take-up.ts';
import { LeftWorkspaces, type LocalWorkspaces } from './left-workspaces.ts';
import { PeerSeal } from './peer-seal.ts';
import { Presence, type Self } from './presence.ts';
import type { SharedPlaces } from './run-workspace.ts';

/** A server that was silent for longer is of no interest to somebody who looks at the health of the others. */
const GONE_MS = 600_000;

export interface PeerGroupOptions {
  peers: Peers;
  self: Self;
  /** Undefined in a process without workspaces. */
  workspaces: LocalWorkspaces | undefined;
  retentionMs: number;
  log: Log;
}

export interface PeersCheck extends Check {
  servers: object[];
}

export class PeerGroup {
  /** What this server and the others know each other by. */
  readonly identity: { serverId: string; seal: PeerSeal };
  /** What the work on runs has to know. */
  readonly places: SharedPlaces;
  readonly #options: PeerGroupOptions;
  readonly #presence: Presence;
  readonly #left: LeftWorkspaces | undefined;

  constructor(options: PeerGroupOptions) {
    const { peers, self, workspaces, retentionMs, log } = options;
    this.#options = options;
    const { serverId } = self;
    this.identity = { serverId, seal: new PeerSeal(peers.secret) };
    this.places = { serverId, places: peers.workspaces };
    this.#presence = new Presence({ servers: peers.servers, self, log });
    this.#left = workspaces && new LeftWorkspaces({ workspaces, ...this.places, retentionMs, log });
  }

  /** Resolves when the others know of this server, and that they reach it at this URL, and of what lies here. */
  async start(url: string): Promise<void> {
    await Promise.all([this.#presence.start(url), this.#left?.start()]);
  }

  async stop(): Promise<void> {
    await this.#left?.stop();
    await this.#presence.stop();
  }

  /** Where the files of the run are; undefined when they are here, or nowhere. */
  async findElsewhere(runId: string): Promise<Place | undefined> {
    const { peers, self } = this.#options;
    const place = await peers.workspaces.locate(runId);
    return place?.serverId === self.serverId ? undefined : place;
  }

  /** Whether another server has a reader of the run, and is responsible for it now. */
  async isTakenUp(runId: string): Promise<boolean> {
    const { peers, self } = this.#options;
    const { now, servers } = await peers.servers.list();
    const others = servers.filter(
      (server) =>
        server.serverId !== self.serverId && server.stoppedAt === null && now - server.seenAt < SILENT_MS,
    );
    return askToTakeUp(this.identity.seal, others, runId);
  }

  /** That another server is silent, or that none works on runs, is not for this one to mend: it makes no check fail. */
  async check(): Promise<PeersCheck> {
    const { peers, self } = this.#options;
    try {
      const { now, servers } = await peers.servers.list();
      const there = servers.filter((server) => server.stoppedAt === null && now - server.seenAt < GONE_MS);
      const isSilent = ({ seenAt }: KnownServer): boolean => now - seenAt > SILENT_MS;
      const silent = there.filter(isSilent).length;
      const seen = `${there.length - silent} of ${there.length} servers on this store were seen lately`;
      const works = there.some((server) => !isSilent(server) && server.maxRuns > 0);
      return {
        status: silent === 0 && works ? 'ok' : 'degraded',
        detail: works ? seen : `${seen}, and none of them works on runs: those that come wait in the queue`,
        servers: there.map((server) => ({
          server_id: server.serverId,
          url: server.url,
          role: server.role,
          version: server.version,
          max_concurrent: server.maxRuns,
          started_at: new Date(server.startedAt).toISOString(),
          seen_at: new Date(server.seenAt).toISOString(),
          self: server.serverId === self.serverId,
        })),
      };
    } catch {
      return { status: 'degraded', detail: 'The store cannot be asked for the other servers', servers: [] };
    }
  }
}
