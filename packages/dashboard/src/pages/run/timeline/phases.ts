/**
 * What a run spent its time on: the time up to each event belongs to what was going on before it. Phases of the same
 * kind that follow each other are one.
 */
import type { RunEvent } from '@talaria/client';

/** `away`: no server worked on the run. */
export type PhaseKind = 'model' | 'tool' | 'waiting' | 'away';

export interface Phase {
  kind: PhaseKind;
  /** Seconds since the epoch. */
  from: number;
  to: number;
  /** The events at its ends. */
  first: number;
  last: number;
}

export class Phases {
  readonly list: Phase[] = [];
  #last: { at: number; seq: number } | undefined;
  readonly #calls = new Set<string>();
  readonly #questions = new Set<string>();
  #handedOver = false;

  add(event: RunEvent): void {
    const { seq, timestamp: at } = event;
    if (this.#last !== undefined) this.#spend(this.#last, at, seq, event.event === 'run.resumed');
    this.#last = { at, seq };
    this.#handedOver = event.event === 'run.waiting';
    switch (event.event) {
      case 'tool.started':
        this.#calls.add(event.tool_call_id);
        break;
      case 'tool.completed':
        this.#calls.delete(event.tool_call_id);
        break;
      case 'approval.request':
        this.#questions.add(event.request_id);
        break;
      case 'approval.responded':
        this.#questions.delete(event.request_id);
        break;
    }
  }

  #spend(since: { at: number; seq: number }, to: number, seq: number, resumed: boolean): void {
    const kind = resumed && this.#questions.size === 0 ? 'away' : this.#kind();
    const last = this.list.at(-1);
    // Clocks of two servers may differ: time never runs backwards here.
    const end = Math.max(to, last?.to ?? since.at);
    if (last?.kind === kind) Object.assign(last, { to: end, last: seq });
    else this.list.push({ kind, from: last?.to ?? since.at, to: end, first: since.seq, last: seq });
  }

  #kind(): PhaseKind {
    if (this.#questions.size > 0 || this.#handedOver) return 'waiting';
    return this.#calls.size > 0 ? 'tool' : 'model';
  }
}
