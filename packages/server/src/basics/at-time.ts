/** The longest time that a timer of Node can wait; with a longer one it fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Calls back at this time of the clock, however far away it is, and never in the caller's turn. The result cancels it. */
export function atTime(timeMs: number, now: () => number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const leftMs = timeMs - now();
    if (leftMs <= 0) callback();
    else timer = setTimeout(arm, Math.min(leftMs, TIMER_MAX_MS));
  };
  timer = setTimeout(arm, 0);
  return () => clearTimeout(timer);
}
