import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { stopSignals } from './stop-signals.ts';

let exit: ReturnType<typeof vi.fn>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  exit = vi.fn();
  vi.spyOn(process, 'exit').mockImplementation(exit as unknown as typeof process.exit);
  const signals = stopSignals();
  onTestFinished(() => {
    signals[Symbol.dispose]();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
});

it('the echo of a signal, which npm passes on, is not a second one', () => {
  process.emit('SIGINT', 'SIGINT');
  vi.advanceTimersByTime(500);
  process.emit('SIGINT', 'SIGINT');
  expect(exit).not.toHaveBeenCalled();
});

it('the same signal again, after a person could read what the first one does, ends the process', () => {
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGINT', 'SIGINT');
  vi.advanceTimersByTime(501);
  process.emit('SIGINT', 'SIGINT');
  expect(exit).toHaveBeenCalledWith(130);
});

it('another signal ends the process at once', () => {
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGTERM', 'SIGTERM');
  expect(exit).toHaveBeenCalledWith(143);
});
