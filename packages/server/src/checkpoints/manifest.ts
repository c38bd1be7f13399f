/**
 * The stored form of a tree: a list of all entries, followed by lists of changes. Each part is JSON in a range of a blob.
 *
 * A place in the blob that contains the part itself is written without the id, which nobody knows before the blob is written.
 */
import type { CapturedPath } from '@talaria/sandbox';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { BlobPart } from '../journal/checkpoints.ts';
import { type CheckpointEntry, type CheckpointTree, entryKey } from './checkpoint-tree.ts';

/** Turns one tree into another: first everything in `removed` goes, with all below it; then `changed` is put in. */
export interface TreeChange {
  removed: readonly CapturedPath[];
  changed: readonly CheckpointEntry[];
}

export const EMPTY_TREE: CheckpointTree = new Map();

export function applyChange(tree: CheckpointTree, { removed, changed }: TreeChange): CheckpointTree {
  const next = removed.length === 0 ? new Map(tree) : without(tree, new Set(removed.map(entryKey)));
  for (const entry of changed) next.set(entryKey(entry), entry);
  return next;
}

/** The change that turns `from` into `tree`, without the entries that are the same. */
export function changeBetween(from: CheckpointTree, tree: CheckpointTree): TreeChange {
  return {
    removed: [...from].filter(([key]) => !tree.has(key)).map(([, entry]) => pathOf(entry)),
    changed: [...tree].filter(([key, entry]) => !isSame(from.get(key), entry)).map(([, entry]) => entry),
  };
}

function isSame(a: CheckpointEntry | undefined, b: CheckpointEntry): boolean {
  return (
    a !== undefined &&
    a.type === b.type &&
    a.mode === b.mode &&
    a.size === b.size &&
    a.modified_ms === b.modified_ms &&
    a.sha256 === b.sha256 &&
    a.target === b.target &&
    a.target_bytes === b.target_bytes
  );
}

/** The blobs that are needed to read the tree. */
export function blobsOf(tree: CheckpointTree, parts: readonly BlobPart[]): string[] {
  const ids = new Set(parts.map((part) => part.blob_id));
  for (const { content } of tree.values()) if (content !== undefined) ids.add(content.blob_id);
  return [...ids];
}

interface EncodedPart extends Pick<TreeChange, 'removed'> {
  changed: (Omit<CheckpointEntry, 'content'> & {
    content?: { blob_id?: string; start: number } | undefined;
  })[];
}

/** `isOwn`: whether this content is in the blob that the part will be in. */
export function encodePart(change: TreeChange, isOwn: (entry: CheckpointEntry) => boolean): Buffer {
  const changed = change.changed.map((entry) =>
    entry.content !== undefined && isOwn(entry)
      ? { ...entry, content: { start: entry.content.start } }
      : entry,
  );
  return Buffer.from(JSON.stringify({ removed: change.removed.map(pathOf), changed } satisfies EncodedPart));
}

/** Rejects with `BlobGoneError` if a part does not exist any more. */
export async function readTree(
  parts: readonly BlobPart[],
  blobs: Pick<BlobStore, 'read'>,
): Promise<CheckpointTree> {
  let tree = EMPTY_TREE;
  for (const part of parts) tree = applyChange(tree, await readPart(part, blobs));
  return tree;
}

async function readPart(
  { blob_id, start, end }: BlobPart,
  blobs: Pick<BlobStore, 'read'>,
): Promise<TreeChange> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of blobs.read(blob_id, { start, end })) chunks.push(chunk);
  const { removed, changed } = JSON.parse(Buffer.concat(chunks).toString()) as EncodedPart;
  return {
    removed,
    changed: changed.map(({ content, ...entry }) =>
      content === undefined ? entry : { ...entry, content: { blob_id, ...content } },
    ),
  };
}

function without(tree: CheckpointTree, removed: ReadonlySet<string>): Map<string, CheckpointEntry> {
  const next = new Map<string, CheckpointEntry>();
  for (const [key, entry] of tree) if (!isBelow(key, removed)) next.set(key, entry);
  return next;
}

function isBelow(key: string, removed: ReadonlySet<string>): boolean {
  for (let end = key.length; end > 0; end = key.lastIndexOf('/', end - 1)) {
    if (removed.has(key.slice(0, end))) return true;
  }
  return false;
}

function pathOf({ path, path_bytes }: CapturedPath): CapturedPath {
  return path_bytes === undefined ? { path } : { path, path_bytes };
}
