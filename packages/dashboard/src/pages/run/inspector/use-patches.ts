/** Loads the changed lines of the open files, and loads them again when the compared events change. */
import { useSignal } from '@preact/signals';
import type { DiffQuery, Talaria } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { client, noteFailure } from '../../../api/session.ts';
import type { DiffLine } from '../patch-lines.ts';
import { unifiedLines } from './unified-diff.ts';

export interface FilePatch {
  lines: readonly DiffLine[];
  /** There are more than are shown. */
  cut: boolean;
  error: unknown;
}

/** How much of one file's patch is read at most. */
const PATCH_BYTES = 1_000_000;

interface Kept extends FilePatch {
  version: unknown;
}

/** With another `version` the files may have changed again: what is shown stays until the new lines are there. */
export function usePatches(
  runId: string,
  query: DiffQuery,
  version: unknown,
  open: readonly string[],
): ReadonlyMap<string, FilePatch> {
  const patches = useSignal<ReadonlyMap<string, Kept>>(new Map());
  useEffect(() => {
    patches.value = new Map();
  }, [runId, query.from, query.to]);
  useEffect(() => {
    const left = new AbortController();
    const keep = (path: string, patch: FilePatch) => {
      if (!left.signal.aborted) patches.value = new Map(patches.peek()).set(path, { ...patch, version });
    };
    for (const path of open.filter((one) => patches.peek().get(one)?.version !== version)) {
      readPatch(client.peek(), runId, { ...query, path }, left.signal).then(
        (patch) => keep(path, patch),
        (error) => {
          if (!left.signal.aborted) noteFailure(error);
          keep(path, { lines: [], cut: false, error });
        },
      );
    }
    return () => left.abort();
  }, [runId, version, open.join('\0')]);
  return patches.value;
}

async function readPatch(
  user: Talaria,
  runId: string,
  query: DiffQuery,
  signal: AbortSignal,
): Promise<FilePatch> {
  const { body } = await user.runs.patch(runId, query, { signal });
  const parts: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop ends the download.
  for await (const part of chunks(body)) {
    parts.push(part);
    size += part.length;
    if (size > PATCH_BYTES) break;
  }
  const text = new TextDecoder().decode(await new Blob(parts as BlobPart[]).arrayBuffer());
  const cut = size > PATCH_BYTES;
  return { lines: unifiedLines(cut ? text.slice(0, text.lastIndexOf('\n')) : text), cut, error: undefined };
}

/** Not every browser can iterate over a stream. */
async function* chunks(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) return;
      yield read.value;
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}
