import { EventEmitter } from 'node:events';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { stopSignals } from './stop-signals.ts';

let process: EventEmitter & { exit(code: number): never };
let exit: ReturnType<typeof vi.fn<(code: number) => never>>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  exit = vi.fn();
  process = Object.assign(new EventEmitter(), { exit });
  const signals = stopSignals(process as unknown as NodeJS.Process);
  onTestFinished(() => {
    signals[Symbol.dispose]();
    vi.useRealTimers();
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
