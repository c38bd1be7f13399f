/** A change with what differs in it, line by line. */
import type { CheckpointEntry, CheckpointFiles } from '../checkpoints/checkpoint-tree.ts';
import { entryBytes } from '../checkpoints/entry-bytes.ts';
import { type ComparedCheckpoints, type FileChange, isSameContent } from './changed-files.ts';
import { compareInThread } from './line-thread.ts';
import type { CompareOptions, ThreadResult } from './line-thread-messages.ts';

/** Larger files are not compared line by line. */
const MAX_COMPARED_BYTES = 2 * 1024 * 1024;

/**
 * - `too_large`: a file is over `MAX_COMPARED_BYTES`.
 * - `too_many`: too much changed before it (effort.ts).
 * - `not_kept`: one of the checkpoints may have had the file, and does not hold it.
 */
export type UncomparedReason = 'too_large' | 'too_many' | 'not_kept';

export type Difference =
  | ({ kind: 'text' } & NonNullable<ThreadResult['text']> & WithIds)
  | ({ kind: 'binary' } & WithIds)
  | { kind: 'uncompared'; reason: UncomparedReason };

type WithIds = Pick<ThreadResult, 'blobIds'>;

const NO_LINES: Difference = {
  kind: 'text',
  additions: 0,
  deletions: 0,
  hunks: new Uint8Array(0),
  blobIds: undefined,
};

export interface DifferenceOptions extends CompareOptions {
  /** The key that asks: keys take turns. */
  owner: string;
  signal?: AbortSignal | undefined;
}

/** What differs between the two contents of a change; a content that is missing counts as empty. */
export async function difference(
  { from, to }: ComparedCheckpoints,
  { before, after, isKnown }: FileChange,
  { owner, signal, ...options }: DifferenceOptions,
): Promise<Difference> {
  if (!isKnown) return { kind: 'uncompared', reason: 'not_kept' };
  if (before && after && isSameContent(before, after)) return NO_LINES;
  const sizes = [before?.size ?? 0, after?.size ?? 0];
  if (Math.max(...sizes) > MAX_COMPARED_BYTES) return { kind: 'uncompared', reason: 'too_large' };
  const read = async () => ({ before: await bytesOf(from, before), after: await bytesOf(to, after) });
  const size = sizes[0]! + sizes[1]!;
  const { text, blobIds } = await compareInThread({ name: owner, size }, read, options, signal);
  return text === undefined ? { kind: 'binary', blobIds } : { kind: 'text', ...text, blobIds };
}

/** A buffer of its own, which may go to another thread. */
async function bytesOf(files: CheckpointFiles, entry: CheckpointEntry | undefined): Promise<Uint8Array> {
  const bytes = new Uint8Array(entry?.size ?? 0);
  let length = 0;
  if (entry) {
    for await (const piece of entryBytes(files, entry)) {
      bytes.set(piece, length);
      length += piece.length;
    }
  }
  return bytes;
}
