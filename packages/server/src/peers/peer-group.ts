/**
 * This server among those that share its store. It tells the others that it exists, and knows which others do and where the
 * workspaces of runs are.
 */

import type { Log } from '../basics/log.ts';
import { isSilent, type Peers, type Place } from '../journal/peers.ts';
import { askToTakeUp } from './ask-to-take-up.ts';
import { checkPeers, type PeersCheck } from './check-peers.ts';
import { findTwin } from './find-twin.ts';
import { LeftWorkspaces, type LeftWorkspacesOptions } from './left-workspaces.ts';
import { PeerSeal } from './peer-seal.ts';
import { Presence, type Self } from './presence.ts';
import type { SharedPlaces } from './run-workspace.ts';

export interface PeerGroupOptions {
  peers: Peers;
  self: Self;
  /** Undefined in a process without workspaces. */
  workspaces: LeftWorkspacesOptions['workspaces'] | undefined;
  retentionMs: number;
  log: Log;
}

export class PeerGroup {
  /** The id of this server, and the seal by which it and the others recognise each other. */
  readonly identity: { serverId: string; seal: PeerSeal };
  /** What the work on runs has to know about workspaces on other servers. */
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

  /** Call it before this server listens. Rejects if another living server has its id. */
  async checkAlone(): Promise<void> {
    const twin = await findTwin(this.#options.peers.servers, this.identity);
    if (twin === undefined) return;
    throw new Error(
      `The server at ${twin.url} goes by the id of this one: its data directory, or this one, is a copy; ` +
        'delete the file server-id in the copy and start again',
    );
  }

  /** Resolves when the others know this server's URL and its workspaces. */
  async start(url: string): Promise<void> {
    await Promise.all([this.#presence.start(url), this.#left?.start()]);
  }

  async stop(): Promise<void> {
    await this.#left?.stop();
    await this.#presence.stop();
  }

  /** Where the files of the run are; undefined if they are here, or nowhere. */
  async findElsewhere(runId: string): Promise<Place | undefined> {
    const { peers, self } = this.#options;
    const place = await peers.workspaces.locate(runId);
    return place?.serverId === self.serverId ? undefined : place;
  }

  /** Whether another server has a reader of the run and is responsible for it now. */
  async isTakenUp(runId: string): Promise<boolean> {
    const { peers, self } = this.#options;
    const { now, servers } = await peers.servers.list();
    const others = servers.filter((server) => server.serverId !== self.serverId && !isSilent(server, now));
    return askToTakeUp(this.identity.seal, others, runId);
  }

  check(): Promise<PeersCheck> {
    const { peers, self } = this.#options;
    return checkPeers(peers.servers, self.serverId);
  }
}
