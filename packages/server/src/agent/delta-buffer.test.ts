import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DeltaBuffer } from './delta-buffer.ts';

const WINDOW_MS = 20;

/** A store whose writes complete when the test says so. */
function slowStore() {
  const written: string[] = [];
  const under: PromiseWithResolvers<void>[] = [];
  const buffer = new DeltaBuffer((delta) => {
    written.push(delta);
    const write = Promise.withResolvers<void>();
    under.push(write);
    return write.promise;
  });
  return { buffer, written, under };
}

describe('with a clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('the first delta is written in the next turn, with what came in the same one', async () => {
    const { buffer, written } = slowStore();
    buffer.push('fir');
    buffer.push('st');
    expect(written).toEqual([]);
    await nextTurn();
    expect(written).toEqual(['first']);
  });

  test('deltas that come during a write, or soon after it, are written together', async () => {
    const { buffer, written, under } = slowStore();
    buffer.push('a');
    await nextTurn();
    buffer.push('b');
    under[0]!.resolve();
    await nextTurn();
    buffer.push('c');
    vi.advanceTimersByTime(WINDOW_MS - 1);
    expect(written).toEqual(['a']);
    vi.advanceTimersByTime(1);
    expect(written).toEqual(['a', 'bc']);
  });

  test('after a quiet period a delta is written in the next turn again', async () => {
    const { buffer, written, under } = slowStore();
    buffer.push('a');
    await nextTurn();
    under[0]!.resolve();
    await nextTurn();
    vi.advanceTimersByTime(WINDOW_MS);
    buffer.push('b');
    await nextTurn();
    expect(written).toEqual(['a', 'b']);
  });

  test('a character that comes in two halves is written as one', async () => {
    const { buffer, written, under } = slowStore();
    buffer.push('a\ud83d');
    await nextTurn();
    under[0]!.resolve();
    await nextTurn();
    vi.advanceTimersByTime(WINDOW_MS);
    expect(written).toEqual(['a']);
    buffer.push('\ude00b');
    await nextTurn();
    expect(written).toEqual(['a', '😀b']);
  });

  test('half a character that nothing follows is written at the end', async () => {
    const { buffer, written } = slowStore();
    buffer.push('\ud83d');
    await nextTurn();
    expect(written).toEqual([]);
    void buffer.flush();
    await nextTurn();
    expect(written).toEqual(['\ud83d']);
  });

  test('an empty delta is ignored', () => {
    const { buffer, written } = slowStore();
    buffer.push('');
    expect(written).toEqual([]);
  });
});

test('flush waits for the current write and writes the rest without waiting for the window', async () => {
  const { buffer, written, under } = slowStore();
  buffer.push('a');
  await nextTurn();
  buffer.push('b');
  let flushed = false;
  const flush = buffer.flush().then(() => {
    flushed = true;
  });
  under[0]!.resolve();
  await nextTurn();
  expect(written).toEqual(['a', 'b']);
  expect(flushed).toBe(false);
  under[1]!.resolve();
  await flush;
});

test('the rest that is taken is not written', async () => {
  const { buffer, written, under } = slowStore();
  buffer.push('a');
  await nextTurn();
  buffer.push('b');
  const rest = buffer.takeRest();
  under[0]!.resolve();
  expect(await rest).toBe('b');
  await buffer.flush();
  expect(written).toEqual(['a']);
});

test('a failed write is thrown by the next push and by every flush; nothing is written after it', async () => {
  const { buffer, written, under } = slowStore();
  buffer.push('a');
  await nextTurn();
  buffer.push('b');
  under[0]!.reject(new Error('lease lost'));
  await nextTurn();
  expect(() => buffer.push('c')).toThrow('lease lost');
  await expect(buffer.flush()).rejects.toThrow('lease lost');
  await expect(buffer.flush()).rejects.toThrow('lease lost');
  expect(written).toEqual(['a']);
});

test('a write that fails while flushing fails the flush', async () => {
  const { buffer, under } = slowStore();
  buffer.push('a');
  const flush = expect(buffer.flush()).rejects.toThrow('disk full');
  await nextTurn();
  under[0]!.reject(new Error('disk full'));
  await flush;
});

test('whatever the pieces and the pauses, the whole text is written once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.string(), fc.boolean())), async (pieces) => {
      const written: string[] = [];
      const buffer = new DeltaBuffer(async (delta) => {
        await nextTurn();
        written.push(delta);
      });
      for (const [piece, pause] of pieces) {
        buffer.push(piece);
        if (pause) await nextTurn();
      }
      await buffer.flush();
      expect(written.join('')).toBe(pieces.map(([piece]) => piece).join(''));
    }),
    { numRuns: 50 },
  );
});
