/** Trees that do not come from a workspace, as snapshots that can be restored or merged into one. */
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { createZstdCompress } from 'node:zlib';
import { fromBytes, gathered } from '../artifacts/archive.ts';
import type { TreeEntry } from '../artifacts/archive-entry.ts';
import { encodeSnapshot } from './snapshot-format.ts';
import { COMPRESSION, type TakeOptions, takeSnapshot } from './take-snapshot.ts';

export interface PackOptions {
  /** True by default. Compressing takes longer than it saves if the bytes stay in this process. */
  compress?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** The entries come with every directory before what is in it. If they fail, so does the stream. */
export function packTree(
  entries: AsyncIterable<TreeEntry>,
  { compress = true, signal }: PackOptions = {},
): Readable {
  const bytes = fromBytes(gathered(encodeSnapshot(entries, () => 0)), () => {});
  const packed = compress ? pipeline(bytes, createZstdCompress(COMPRESSION), () => {}) : bytes;
  return signal === undefined ? packed : addAbortSignal(signal, packed);
}

/** A directory of this machine, with links as links. Over a limit the stream fails with `artifact_too_large`. */
export function packDirectory(dir: string, options: TakeOptions = {}): Readable {
  return takeSnapshot(() => dir, options);
}
