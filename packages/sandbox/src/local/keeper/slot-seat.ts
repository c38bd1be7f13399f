/** The seat of one slot, taken with its first command. */
import { endSeat, type Seat, type Seats } from './seats.ts';

export class SlotSeat {
  readonly #seats: Seats;
  #seat: Promise<Seat> | undefined;

  constructor(seats: Seats) {
    this.#seats = seats;
  }

  /** A failed attempt is not kept, and a keeper that has ended is replaced. */
  async current(): Promise<Seat> {
    this.#seat ??= this.#keep(this.#seats.take(), undefined);
    const held = this.#seat;
    const seat = await held;
    if (!seat.keeper?.isGone) return seat;
    if (this.#seat === held) this.#seat = this.#keep(this.#seats.replaceKeeper(seat), held);
    return this.#seat ?? this.current();
  }

  /** Call when no command of the slot is running or starting any more. */
  async close(): Promise<void> {
    const seat = await this.#seat?.catch(() => undefined);
    this.#seat = undefined;
    if (seat) await endSeat(seat);
  }

  #keep(seat: Promise<Seat>, otherwise: Promise<Seat> | undefined): Promise<Seat> {
    const kept = seat.catch((error: unknown) => {
      if (this.#seat === kept) this.#seat = otherwise;
      throw error;
    });
    return kept;
  }
}
