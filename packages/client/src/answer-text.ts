/** Builds the text of a run from its events. Text that a restarted server sends again counts once. */
import type { RunEvent } from '@talaria/protocol';

export class AnswerText {
  #deltas: { seq: number; delta: string }[] = [];

  add(event: RunEvent): void {
    if (event.event === 'message.delta') {
      this.#deltas.push({ seq: event.seq, delta: event.delta });
    } else if (event.event === 'run.resumed' && event.discard_from_seq !== undefined) {
      const from = event.discard_from_seq;
      this.#deltas = this.#deltas.filter(({ seq }) => seq < from);
    }
  }

  toString(): string {
    return this.#deltas.map(({ delta }) => delta).join('');
  }
}
