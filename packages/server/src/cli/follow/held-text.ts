/**
 * The model's text in the present step. It is final when the step has ended; until then a restarted server may discard
 * it and repeat it.
 */
import type { EventOf } from './event-lines.ts';

export class HeldText {
  #deltas: { seq: number; delta: string }[] = [];

  add({ seq, delta }: EventOf<'message.delta'>): void {
    this.#deltas.push({ seq, delta });
  }

  /** Returns the discarded text. */
  discardFrom(seq: number): string {
    const isVoid = (delta: { seq: number }): boolean => delta.seq >= seq;
    const dropped = this.#deltas.filter(isVoid);
    this.#deltas = this.#deltas.filter((delta) => !isVoid(delta));
    return dropped.map(({ delta }) => delta).join('');
  }

  /** All of the text, which is then no longer held. */
  take(): string {
    const text = this.#deltas.map(({ delta }) => delta).join('');
    this.#deltas = [];
    return text;
  }
}
