/** A workspace as a compressed stream of bytes, from which `restoreTree` creates it again. */
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { constants, createZstdCompress } from 'node:zlib';
import type { SnapshotOptions } from '../../snapshots.ts';
import { fromBytes, gathered } from '../artifacts/archive.ts';
import { treeEntries } from '../artifacts/archive-entries.ts';
import type { TreeEntry } from '../artifacts/archive-entry.ts';
import { tooLarge } from '../artifacts/failures.ts';
import type { WorkspacePlace } from '../artifacts/workspace-place.ts';
import { encodeSnapshot } from './snapshot-format.ts';

/** The run waits for it, so it is quick rather than small; the checksum detects damage. */
export const COMPRESSION = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 },
};

export interface TakeOptions extends SnapshotOptions {
  maxEntries?: number | undefined;
  /** Called for each packed entry, with the size of its content in bytes. */
  onEntry?: ((size: number) => void) | undefined;
}

export function takeSnapshot(place: WorkspacePlace, { signal, ...limits }: TakeOptions): Readable {
  const stop = new AbortController();
  let omitted = 0;
  const entries = treeEntries(
    { place, components: [], isFile: false },
    {
      signal: stop.signal,
      onOmitted: (count) => {
        omitted = count;
      },
    },
  );
  const kept = limited(entries, limits);
  const bytes = fromBytes(gathered(encodeSnapshot(kept, () => omitted)), () => stop.abort());
  // A failure on either side ends both; the reader of the stream gets it.
  const packed = pipeline(bytes, createZstdCompress(COMPRESSION), () => {});
  return signal === undefined ? packed : addAbortSignal(signal, packed);
}

async function* limited(
  entries: AsyncIterable<TreeEntry>,
  { maxBytes = Infinity, maxEntries = Infinity, onEntry }: TakeOptions,
): AsyncGenerator<TreeEntry, void> {
  let [bytes, count] = [0, 0];
  for await (const entry of entries) {
    if (++count > maxEntries) throw tooLarge(`There are more than ${maxEntries} entries`);
    bytes += entry.size;
    if (bytes > maxBytes) throw tooLarge(`The files are over ${maxBytes} bytes`);
    onEntry?.(entry.size);
    yield entry;
  }
}
