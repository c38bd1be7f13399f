/**
 * What the model has said in the step under way. It stands when the step has ended; until then a server that is
 * restarted may take it back, to say it again.
 */
import type { EventOf } from './event-lines.ts';

export class HeldText {
  #deltas: { seq: number; delta: string }[] = [];

  add({ seq, delta }: EventOf<'message.delta'>): void {
    this.#deltas.push({ seq, delta });
  }

  /** Answers with what is void. */
  discardFrom(seq: number): string {
    const isVoid = (delta: { seq: number }): boolean => delta.seq >= seq;
    const dropped = this.#deltas.filter(isVoid);
    this.#deltas = this.#deltas.filter((delta) => !isVoid(delta));
    return dropped.map(({ delta }) => delta).join('');
  }

  /** All there is, which is then no longer held. */
  take(): string {
    const text = this.#deltas.map(({ delta }) => delta).join('');
    this.#deltas = [];
    return text;
  }
}
