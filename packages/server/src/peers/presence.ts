/**
 * Tells the others on the store that this server exists: when it starts, every few seconds while it lives, and when it
 * ends. A server that was not seen for a month is forgotten, unless it has files of a kept run.
 */

import type { Log } from '../basics/log.ts';
import type { NewServer, Servers } from '../journal/peers.ts';

const BEAT_MS = 5_000;
const FORGET_EVERY_MS = 3_600_000;
const FORGET_AFTER_MS = 30 * 24 * 3_600_000;

/** This server, without its URL: that is known only when it listens. */
export type Self = Omit<NewServer, 'url'>;

export interface PresenceOptions {
  servers: Servers;
  self: Self;
  log: Log;
}

export class Presence {
  readonly #options: PresenceOptions;
  #url = '';
  #startedAt: number | undefined;
  #timers: NodeJS.Timeout[] = [];
  #beating: Promise<void> | undefined;
  #failing = false;
  #doubled = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  /** A store that is unavailable now gets the next beat. */
  async start(url: string): Promise<void> {
    this.#url = url;
    this.#timers = [
      setInterval(() => void this.#beat(), BEAT_MS),
      setInterval(() => void this.#forget(), FORGET_EVERY_MS),
    ];
    await this.#beat();
    void this.#forget();
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#beating;
    const { servers, self, log } = this.#options;
    // An unavailable store was waited for just now. The others find this server silent, and its shutdown takes no
    // longer.
    if (this.#startedAt === undefined || this.#failing) return;
    await servers.leave(self.serverId, this.#startedAt).catch((error: unknown) => {
      log.warn({ err: error }, 'the other servers could not be told that this one ends');
    });
  }

  #beat(): Promise<void> {
    this.#beating ??= this.#tell().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #tell(): Promise<void> {
    const { servers, log } = this.#options;
    const self = { ...this.#options.self, url: this.#url };
    try {
      if (this.#startedAt === undefined) this.#startedAt = await servers.announce(self);
      else if (!(await servers.renew(self, this.#startedAt)) && !this.#doubled) {
        this.#doubled = true;
        log.error(
          { serverId: self.serverId },
          'another server goes by the id of this one, so servers look for the files of runs at the wrong one: its data ' +
            'directory is a copy; stop it, delete the file server-id there and start it again, then start this one again',
        );
      }
      this.#failing = false;
    } catch (error) {
      if (!this.#failing)
        log.warn({ err: error }, 'the other servers could not be told of this one; it will be retried');
      this.#failing = true;
    }
  }

  async #forget(): Promise<void> {
    const { servers, log } = this.#options;
    await servers.forget(FORGET_AFTER_MS).catch((error: unknown) => {
      log.warn({ err: error }, 'servers that are gone could not be forgotten; it will be retried');
    });
  }
}
