/** The bytes of files and archives that a run begins with: from its request, or from the store. */
import type { BlobStore } from '../blobs/blob-store.ts';
import type { SetupContent, SetupFile } from '../journal/workspace-setup.ts';
import type { ArchivedEntry, ArchiveSource } from './archives/archive-entry.ts';

const PIECE_BYTES = 256 * 1024;

export function sourceOf(content: SetupContent, blobs: Pick<BlobStore, 'read'>): ArchiveSource {
  if ('blob_id' in content) {
    const { blob_id: blobId, size } = content;
    return { size, read: (start, end) => blobs.read(blobId, { start, end }) };
  }
  const bytes = Buffer.from(content.content, content.encoding ?? 'utf8');
  return {
    size: bytes.length,
    async *read(start, end) {
      for (let at = start; at < end; at += PIECE_BYTES)
        yield bytes.subarray(at, Math.min(at + PIECE_BYTES, end));
    },
  };
}

/** Files as an archive would have them. */
export async function* fileEntries(
  files: readonly SetupFile[],
  blobs: Pick<BlobStore, 'read'>,
  now: number,
): AsyncGenerator<ArchivedEntry, void> {
  for (const { path, ...content } of files) {
    const source = sourceOf(content, blobs);
    const { size } = source;
    yield {
      name: Buffer.from(path),
      type: 'file',
      size,
      mode: 0o644,
      modifiedMs: now,
      content: async function* () {
        if (size === 0) return;
        for await (const piece of source.read(0, size)) {
          yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
        }
      },
    };
  }
}
