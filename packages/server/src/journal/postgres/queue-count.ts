/**
 * How many runs wait, in total and for each owner, as far as a server needs it to limit the queue.
 *
 * To count them the database reads all of them. So a count serves for a while where it leaves half of the queue free, or half
 * of the owner's share, and the server adds the runs that it creates meanwhile. A count of a long queue takes longer and
 * serves longer. What other servers add meanwhile is small beside what waits already; where half of the queue is free, it fits
 * in. It may not fit into a share: while the queue is full, each server gives an owner up to half of its share before it counts
 * again, so many servers together can exceed the share. Close to the limit every transaction counts. Then the count lacks only
 * the runs that other servers are about to add, and the servers together can exceed the limit by those.
 */
import type { CreateLimits } from '../journal.ts';
import type { Transaction } from './database.ts';
import { roomElsewhere } from './servers.ts';

const SERVES_MIN_MS = 100;
const SERVES_MAX_MS = 1_000;
/** A hundred runs are counted in a twentieth of this time or less, so that counting takes little of the time for creating. */
const SERVES_MS_PER_HUNDRED = 1;

export class QueueCount {
  readonly #serverId: string;
  #servesUntil = Number.NEGATIVE_INFINITY;
  #countedBy: Transaction | undefined;
  #total = 0;
  #byOwner = new Map<string, number>();
  /** How many runs the other servers have room for; read only if the decision depends on it. */
  #room: number | undefined;

  constructor(serverId: string) {
    this.#serverId = serverId;
  }

  /**
   * By how many runs the queue is too full for another one of this owner; see `CreateLimits`. `write` sends the runs that
   * the transaction has created so far, because a count has to find them.
   */
  async excess(tx: Transaction, owner: string, limits: CreateLimits, write: () => void): Promise<number> {
    if (this.#countedBy !== tx && !this.#serves(owner, limits)) {
      write();
      await this.#count(tx);
    }
    if (this.#excess(owner, limits) <= 0) return 0;
    this.#room ??= await roomElsewhere(tx, this.#serverId);
    return Math.max(0, this.#excess(owner, { ...limits, maxQueued: limits.maxQueued + this.#room }));
  }

  /** If the run is not created after all, the count is too high until the next one. */
  add(owner: string): void {
    this.#total += 1;
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + 1);
  }

  #serves(owner: string, { maxQueued, ownerShare }: CreateLimits): boolean {
    const half = { maxQueued: maxQueued / 2, ownerShare: ownerShare / 2 };
    return performance.now() <= this.#servesUntil && this.#excess(owner, half) <= 0;
  }

  #excess(owner: string, { maxQueued, ownerShare }: CreateLimits): number {
    return Math.min(this.#total + 1 - maxQueued, (this.#byOwner.get(owner) ?? 0) + 1 - ownerShare);
  }

  async #count(tx: Transaction): Promise<void> {
    const countedAt = performance.now();
    const rows = await tx.rows<{ owner: string; queued: number }>(
      `SELECT owner, count(*) AS queued
         FROM runs WHERE finished_at IS NULL AND lease_until IS NULL AND parked_until IS NULL GROUP BY owner`,
    );
    this.#countedBy = tx;
    this.#room = undefined;
    this.#byOwner = new Map(rows.map(({ owner, queued }) => [owner, queued]));
    this.#total = rows.reduce((sum, { queued }) => sum + queued, 0);
    const servesMs = (this.#total / 100) * SERVES_MS_PER_HUNDRED;
    this.#servesUntil = countedAt + Math.min(Math.max(servesMs, SERVES_MIN_MS), SERVES_MAX_MS);
  }
}
