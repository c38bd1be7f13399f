/**
 * Signals that ask the server to stop. The first one resolves `first`; a second one, of either kind, ends the
 * process at once: nothing durable is lost, and someone who presses Ctrl-C twice means it.
 */
import { signalExitCodes } from './exit-codes.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface StopSignals extends Disposable {
  readonly first: Promise<StopSignal>;
}

export function stopSignals(): StopSignals {
  const { promise: first, resolve } = Promise.withResolvers<StopSignal>();
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(signalExitCodes[signal as StopSignal]);
    stopping = true;
    resolve(signal as StopSignal);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    first,
    [Symbol.dispose]() {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    },
  };
}
