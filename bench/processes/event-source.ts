/**
 * The source of events in the fan-out rows, for the server and the floors alike: by the clock, twenty each millisecond.
 * That is more than two hundred models stream together, and slow enough that the row does not measure the store.
 */
export const EVENTS_PER_MS = 20;
const TEXT = ' a few words of what a model says';

export interface Produce {
  events: number;
  /** The text of the last event, by which the subscribers know it. */
  marker: string;
}

/** Calls `emit` with the texts that are due, until all are. */
export function produce({ events, marker }: Produce, emit: (texts: string[]) => void): void {
  const startedAt = performance.now();
  let made = 0;
  const turn = (): void => {
    const due = Math.min(events, 1 + Math.floor((performance.now() - startedAt) * EVENTS_PER_MS));
    const texts: string[] = [];
    while (made < due) texts.push(++made === events ? marker : TEXT);
    if (texts.length > 0) emit(texts);
    if (made < events) setTimeout(turn, 1);
  };
  turn();
}
