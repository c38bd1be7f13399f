/** Finds out by its first bytes what kind of archive it is, and reads its entries. */
import { createGunzip } from 'node:zlib';
import {
  type ArchivedEntry,
  ArchiveError,
  type ArchiveLimits,
  type ArchiveSource,
  tooLarge,
} from './archive-entry.ts';
import { readTar } from './read-tar.ts';
import { readZip } from './read-zip.ts';
import { through } from './through.ts';

/** A header of a tar with a long name. */
const HEADER_BYTES = 2048;

export async function* openArchive(
  source: ArchiveSource,
  limits: ArchiveLimits,
): AsyncGenerator<ArchivedEntry, void> {
  const head = await first(source, 4);
  if (head.subarray(0, 2).toString('latin1') === 'PK') return yield* readZip(source, limits);
  const bytes = source.read(0, source.size);
  const isGzip = head[0] === 0x1f && head[1] === 0x8b;
  yield* readTar(isGzip ? gunzipped(bytes, limits) : bytes);
}

/** Bounded as a whole: headers alone can be a bomb, too. */
async function* gunzipped(
  packed: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
): AsyncGenerator<Buffer, void> {
  const plain = through(packed, createGunzip());
  const most = limits.maxBytes + limits.maxEntries * HEADER_BYTES;
  let length = 0;
  try {
    for await (const bytes of plain) {
      length += bytes.length;
      if (length > most) throw tooLarge(limits);
      yield bytes;
    }
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw new ArchiveError('its gzip compression is damaged or incomplete');
  }
}

async function first(source: ArchiveSource, count: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const end = Math.min(count, source.size);
  if (end > 0) for await (const piece of source.read(0, end)) pieces.push(piece);
  return Buffer.concat(pieces);
}
