/**
 * The files of a slot in one response: the content of a file as text or base64 in JSON, and an archive that is refused,
 * rather than cut off, if it is larger than the requested limit. Other requests are streamed like the files of a run
 * (routes/artifacts.ts).
 */
import { type SlotArtifact, TalariaError } from '@talaria/protocol';
import type { Slot, ToolBackend } from '@talaria/sandbox';
import type { FastifyReply } from 'fastify';
import { ARCHIVE_CONTENT_TYPES, parseArchiveFormat } from '../replies/archive-format.ts';
import { count, flag, single } from '../requests/query.ts';

/** They are held in memory; larger files need the streamed forms. */
const CONTENT_MAX_BYTES = 10_000_000;
const ARCHIVE_MAX_BYTES = 64 * 1024 * 1024;
const ARCHIVE_MAX_ENTRIES = 1_000_000;

export type SlotFiles = Pick<ToolBackend, 'readArtifact' | 'archiveArtifacts'>;

export function wantsJson(query: unknown): boolean {
  return hasAny(query, ['encoding', 'max_bytes', 'include_sha256']);
}

export function wantsWholeArchive(query: unknown): boolean {
  return hasAny(query, ['archive_format', 'max_bytes', 'max_entries']);
}

export async function readAsJson(files: SlotFiles, slot: Slot, query: unknown): Promise<SlotArtifact> {
  const path = single(query, 'path');
  if (path === undefined) {
    throw new TalariaError('invalid_path', { message: "'path' must name a file", param: 'path' });
  }
  return files.readArtifact(slot, path, {
    encoding: parseEncoding(single(query, 'encoding')),
    maxBytes: count(query, 'max_bytes', CONTENT_MAX_BYTES),
    includeSha256: flag(query, 'include_sha256'),
  });
}

export async function sendWholeArchive(
  files: SlotFiles,
  slot: Slot,
  query: unknown,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // Executors of trainers call it `archive_format`.
  const archiveFormat = parseArchiveFormat(single(query, 'archive_format') ?? single(query, 'format'));
  const { content, entryCount } = await files.archiveArtifacts(slot, single(query, 'path'), {
    archiveFormat,
    maxBytes: count(query, 'max_bytes', ARCHIVE_MAX_BYTES),
    maxEntries: count(query, 'max_entries', ARCHIVE_MAX_ENTRIES),
  });
  return reply
    .headers({
      'content-type': ARCHIVE_CONTENT_TYPES[archiveFormat],
      'cache-control': 'private, no-store',
      'x-talaria-entry-count': entryCount,
    })
    .send(content);
}

function hasAny(query: unknown, names: readonly string[]): boolean {
  return names.some((name) => single(query, name) !== undefined);
}

function parseEncoding(value: string | undefined): 'text' | 'base64' {
  if (value === undefined || value === 'text' || value === 'base64') return value ?? 'text';
  throw new TalariaError('invalid_request', {
    message: "'encoding' must be text or base64",
    param: 'encoding',
  });
}
