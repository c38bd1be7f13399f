/** Reads an entry as bytes: a file gives its content, a link its target, a directory nothing. */
import type { ByteRange, CheckpointEntry, CheckpointFiles } from './checkpoint-tree.ts';

export async function* entryBytes(
  files: Pick<CheckpointFiles, 'read'>,
  entry: CheckpointEntry,
  range?: ByteRange,
): AsyncGenerator<Buffer, void> {
  if (entry.type === 'symlink') yield targetOf(entry);
  if (entry.type !== 'file') return;
  for await (const { buffer, byteOffset, byteLength } of files.read(entry, range)) {
    yield Buffer.from(buffer, byteOffset, byteLength);
  }
}

export function targetOf({ target = '', target_bytes: bytes }: CheckpointEntry): Buffer {
  return bytes === undefined ? Buffer.from(target) : Buffer.from(bytes, 'base64');
}
