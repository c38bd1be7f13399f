/**
 * Signals that ask the server to stop. The first one resolves `first`; a second one, of either kind, ends the
 * process at once: nothing durable is lost, and someone who presses Ctrl-C twice means it.
 *
 * The same signal right after the first is its echo. Under `npm start`, one Ctrl-C reaches this process twice: the terminal
 * sends it to npm and to this process, and npm passes its own on.
 */
import { signalExitCodes } from './exit-codes.ts';

/** Far longer than npm takes on a busy machine, and shorter than a person who has read what the first signal does. */
const ECHO_MS = 500;

export type StopSignal = 'SIGINT' | 'SIGTERM';

type Process = Pick<NodeJS.Process, 'on' | 'off' | 'exit'>;

export interface StopSignals extends Disposable {
  readonly first: Promise<StopSignal>;
}

export function stopSignals(process: Process = globalThis.process): StopSignals {
  const { promise: first, resolve } = Promise.withResolvers<StopSignal>();
  let taken: { signal: NodeJS.Signals; at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const at = performance.now();
    if (taken === undefined) {
      taken = { signal, at };
      resolve(signal as StopSignal);
    } else if (signal !== taken.signal || at - taken.at > ECHO_MS) {
      process.exit(signalExitCodes[signal as StopSignal]);
    }
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    first,
    [Symbol.dispose]() {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    },
  };
}
