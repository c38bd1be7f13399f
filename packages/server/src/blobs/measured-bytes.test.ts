import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { MeasuredBytes } from './measured-bytes.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('keeps no piece in memory after it has passed it on', async () => {
  const pieces: WeakRef<Uint8Array>[] = [];
  async function* bytes() {
    for (let i = 0; i < 50; i++) {
      const piece = new Uint8Array(1000);
      pieces.push(new WeakRef(piece));
      yield piece;
    }
  }
  const measured = new MeasuredBytes(bytes(), { signal: new AbortController().signal });
  let inMemory = 0;
  for await (const _ of measured) {
    if (pieces.length < 50) continue;
    await new Promise(setImmediate);
    collectGarbage();
    inMemory = pieces.filter((piece) => piece.deref() !== undefined).length;
  }
  expect(inMemory).toBeLessThan(5);
});

it('ends with the reason of the signal while a piece does not come', async () => {
  const stop = new AbortController();
  async function* never() {
    yield new Uint8Array(1);
    await new Promise(() => {});
  }
  const iterator = new MeasuredBytes(never(), { signal: stop.signal })[Symbol.asyncIterator]();
  await iterator.next();
  const next = iterator.next();
  stop.abort(new Error('stopped'));
  await expect(next).rejects.toThrow('stopped');
});
