/** The files of a stream of read-files.ts. */
import type { CapturedFile } from '../../captures.ts';
import { ByteReader } from '../snapshots/byte-reader.ts';
import { decodeNext, encodeHead, nameDamage } from '../snapshots/snapshot-format.ts';
import { toCapturedPath } from './captured-path.ts';

export async function* capturedFiles(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<CapturedFile, void> {
  const iterator = bytes[Symbol.asyncIterator]();
  const reader = new ByteReader({ [Symbol.asyncIterator]: () => iterator });
  try {
    for (;;) {
      const entry = await decodeNext(reader);
      if (entry.type === 'end') return;
      const { name, size, mode, modifiedMs, content } = entry;
      yield { ...toCapturedPath(name.toString('latin1')), size, mode, modified_ms: modifiedMs, content };
    }
  } catch (error) {
    throw nameDamage(error);
  } finally {
    await iterator.return?.();
  }
}

/** The stream without any files. */
export function noFiles(omitted: number): Buffer {
  return encodeHead({ type: 'end', entries: 0, omitted });
}
