/**
 * The binary form of a snapshot: for each entry the length of its head (4 bytes), the head (JSON) and its content;
 * after the last one a head that says so. An archive format would not do: a tar keeps whole seconds, so a file changed
 * in the second of its last build would look up to date. Restoring only reads this back.
 */
import { isCount } from '../../check-numbers.ts';
import { SandboxError } from '../../errors.ts';
import type { TreeEntry } from '../artifacts/archive-entry.ts';
import { type ByteReader, StreamEndedError } from './byte-reader.ts';

export const LENGTH_BYTES = 4;
/** Room for a path of the longest names, as deep as a walk goes, and more. */
const MAX_HEAD_BYTES = 64 * 1024;
const TYPES: readonly unknown[] = ['file', 'directory', 'symlink'] satisfies TreeEntry['type'][];

export interface SnapshotEnd {
  type: 'end';
  entries: number;
  /** How many entries could not be stored. */
  omitted: number;
}

export interface EntryHead extends Pick<TreeEntry, 'type' | 'size' | 'mode'> {
  /** In base64, because a name is bytes. */
  name: string;
  modified_ms: number;
}

/** `omitted` is called after the last entry. */
export async function* encodeSnapshot(
  entries: AsyncIterable<TreeEntry>,
  omitted: () => number,
): AsyncGenerator<Buffer, void> {
  let count = 0;
  for await (const { name, type, size, mode, modifiedMs, content } of entries) {
    count++;
    const head = { name: name.toString('base64'), type, size, mode: mode & 0o777, modified_ms: modifiedMs };
    yield encodeHead(head satisfies EntryHead);
    yield* content();
  }
  yield encodeHead({ type: 'end', entries: count, omitted: omitted() } satisfies SnapshotEnd);
}

/** The next entry, or the end. The unread rest of the last content is skipped. */
export async function decodeNext(bytes: ByteReader): Promise<TreeEntry | SnapshotEnd> {
  await bytes.skipRest();
  const head = parseHead(await bytes.take(parseLength(await bytes.take(LENGTH_BYTES))));
  if (head.type === 'end') return head;
  const { name, modified_ms: modifiedMs, ...rest } = head;
  bytes.begin(head.size);
  return { ...rest, name: Buffer.from(name, 'base64'), modifiedMs, content: () => bytes.rest() };
}

/** Turns a failure of the snapshot itself into its error; other errors stay unchanged. */
export function nameDamage(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const isDamage = error instanceof StreamEndedError || /^(ZSTD|Z)_/.test(String(code));
  return isDamage ? damaged(error) : error;
}

export function damaged(cause?: unknown): SandboxError {
  return new SandboxError('snapshot_damaged', 'The snapshot is damaged or incomplete.', {
    cause,
  });
}

export function encodeHead(head: EntryHead | SnapshotEnd): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

/** The length of the head that follows. */
export function parseLength(bytes: Buffer): number {
  const length = bytes.readUInt32BE();
  if (length > MAX_HEAD_BYTES) throw damaged();
  return length;
}

export function parseHead(json: Buffer): EntryHead | SnapshotEnd {
  let head: Record<string, unknown> | null;
  try {
    head = JSON.parse(json.toString());
  } catch (error) {
    throw damaged(error);
  }
  const { type, entries, omitted, name, size, mode, modified_ms: modifiedMs } = head ?? {};
  if (type === 'end' && isCount(entries) && isCount(omitted)) return { type, entries, omitted };
  const isEntry = TYPES.includes(type) && typeof name === 'string' && isCount(size) && isCount(mode);
  if (!isEntry || typeof modifiedMs !== 'number') throw damaged();
  return { type, name, size, mode: mode & 0o777, modified_ms: modifiedMs } as EntryHead;
}
