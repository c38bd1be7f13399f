/**
 * What Ctrl-C means while a run is followed.
 *
 *   following ─ Ctrl-C ─▶ leaving ─ a moment ─▶ left (the run continues)
 *                           └─ Ctrl-C ─▶ stopping (the run is told to stop) ─ Ctrl-C ─▶ left
 *
 * SIGTERM and a terminal that goes away leave at once.
 */
import { type EndingSignal, signalExitCodes } from '../exit-codes.ts';

export interface InterruptHandlers {
  /** The first Ctrl-C: says what a second one would do. */
  onLeaving(): void;
  onStop(): void;
  /** The last call. */
  onLeft(exitCode: number): void;
}

/** Long enough to press it twice on purpose, short enough to wait for. */
const SECOND_PRESS_MS = 2_000;

export function handleInterrupts({ onLeaving, onStop, onLeft }: InterruptHandlers): Disposable {
  let presses = 0;
  let timer: NodeJS.Timeout | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const leave = (): void => onLeft(signalExitCodes[signal as EndingSignal]);
    clearTimeout(timer);
    if (signal === 'SIGINT') presses++;
    if (signal !== 'SIGINT' || presses > 2) leave();
    else if (presses === 2) onStop();
    else {
      timer = setTimeout(leave, SECOND_PRESS_MS);
      onLeaving();
    }
  };
  const signals = Object.keys(signalExitCodes) as EndingSignal[];
  for (const signal of signals) process.on(signal, onSignal);
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
