/**
 * Heads: what lists tell about a run after its events and files are gone.
 *
 * Invariants
 * - A run is in the store whole, or as its head, or not at all. The transaction that evicts the run makes the head. The head
 *   keeps the ordinal of the run, so its place in lists and under cursors stays the same.
 * - Lists of runs, the feed of changes and lists of decisions show heads. For everything else an evicted run does not
 *   exist. Heads have a table of their own, so a read has to ask for them, and none finds them by accident.
 * - A head is small, however long the run was: of the answer and of the error it keeps the beginning.
 * - A head is deleted with its session: what somebody deletes must not stay in a list.
 */
import type { RunState, StoredRun } from './run-state.ts';

export interface Heads {
  /** The run, whole or evicted. */
  get(runId: string): Promise<StoredRun | undefined>;
  /** Deletes heads of runs that ended at least `keptMs` ago, at most `limit`, the oldest first; returns how many. */
  sweep(keptMs: number, limit: number): Promise<number>;
}

/** As much as a list shows of a prompt. A search finds these words of an answer. */
const TEXT_CHARS = 500;

/** The state that a head keeps, as it is stored. */
export function headState(state: RunState): string {
  const { status, input, last_event, steps, usage, cost, omitted_messages, output, error, error_code } =
    state;
  const kept: Partial<RunState> = {
    status,
    input,
    last_event,
    steps,
    usage,
    cost,
    omitted_messages,
    output: beginning(output),
    error: beginning(error),
    error_code,
  };
  return JSON.stringify(kept);
}

function beginning(text: string | null): string | null {
  return text === null ? null : text.slice(0, TEXT_CHARS).toWellFormed();
}
