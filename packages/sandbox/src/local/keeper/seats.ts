/**
 * A seat is what a slot needs to run commands: its control groups and its keeper, which is in them. A few seats are made ahead,
 * because making one takes longer than a command: the kernel is slow to create groups and networks, and to move the first
 * process into a group after a pause. Every slot gets a new seat, so nothing of the last holder is left.
 */
import type { BackendLimits } from '../limits/backend-limits.ts';
import { SlotGroup } from '../limits/slot-group.ts';
import type { Keeper } from './keeper.ts';
import type { Keepers } from './keepers.ts';

/** Each is a process of some pages, a network and a group. */
const SPARE = 4;

export interface Seat {
  /** Undefined if control groups enforce no limit. */
  group: SlotGroup | undefined;
  /** Undefined if the server starts commands itself. */
  keeper: Keeper | undefined;
}

export class Seats {
  readonly #keepers: Keepers | undefined;
  readonly #groups: BackendLimits['groups'];
  readonly #spare: Promise<Seat>[] = [];
  #isClosed = false;

  constructor(keepers: Keepers | undefined, groups: BackendLimits['groups']) {
    this.#keepers = keepers;
    this.#groups = groups;
  }

  /** Makes spare seats, without waiting for them. */
  prepare(): void {
    while (this.#keepers && !this.#isClosed && this.#spare.length < SPARE) {
      const seat = this.#make();
      this.#spare.push(seat);
      void this.#dropWhenGone(seat);
    }
  }

  async take(): Promise<Seat> {
    const spare = this.#spare.shift();
    this.prepare();
    return (await spare?.catch(() => undefined)) ?? this.#make();
  }

  /** Another keeper in the groups of a seat whose own has ended. */
  async replaceKeeper({ group, keeper }: Seat): Promise<Seat> {
    await keeper?.close();
    return { group, keeper: await this.#openKeeper(group) };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const spare = await Promise.allSettled(this.#spare.splice(0));
    await Promise.all(spare.map((each) => (each.status === 'fulfilled' ? endSeat(each.value) : undefined)));
  }

  /** Drops a spare seat whose making fails, or whose keeper ends. */
  async #dropWhenGone(seat: Promise<Seat>): Promise<void> {
    const made = await seat.catch(() => undefined);
    await made?.keeper?.gone;
    const index = this.#spare.indexOf(seat);
    if (index < 0) return;
    this.#spare.splice(index, 1);
    if (made) await endSeat(made);
  }

  async #make(): Promise<Seat> {
    const group = this.#groups && (await SlotGroup.create(this.#groups.homes, this.#groups.limits));
    try {
      return { group, keeper: await this.#openKeeper(group) };
    } catch (error) {
      await group?.remove();
      throw error;
    }
  }

  async #openKeeper(group: SlotGroup | undefined): Promise<Keeper | undefined> {
    const keeper = await this.#keepers?.open();
    try {
      await keeper?.enter(group?.entrances ?? []);
      return keeper;
    } catch (error) {
      await keeper?.close();
      throw error;
    }
  }
}

/** Call when nothing runs in the seat any more. */
export async function endSeat({ group, keeper }: Seat): Promise<void> {
  await keeper?.close();
  await group?.remove();
}
