/** The artifact calls of a slot's holder: answers in one piece, limited in size and time. */

import { createHash } from 'node:crypto';
import type {
  ArchiveArtifactsOptions,
  ArtifactArchive,
  ArtifactContent,
  ArtifactFile,
  ArtifactListing,
  ListArtifactsOptions,
  ReadArtifactOptions,
  WorkspaceReader,
} from '../../artifacts.ts';
import { SandboxError } from '../../errors.ts';
import { completeLength } from '../files/utf8.ts';
import { requireCount } from './local-workspace-reader.ts';

const DEFAULT_READ_BYTES = 10_000_000;
const DEFAULT_ARCHIVE_BYTES = 64_000_000;
/** What a timer can count. */
const MAX_TIMEOUT_S = 2_147_483;

export function readArtifact(
  reader: WorkspaceReader,
  path: string,
  options: ReadArtifactOptions,
  defaultTimeoutS: number,
): Promise<ArtifactContent> {
  const { encoding = 'text', maxBytes = DEFAULT_READ_BYTES, includeSha256 = false } = options;
  return withinTime(options.timeoutS ?? defaultTimeoutS, async (signal) => {
    requireCount('maxBytes', maxBytes);
    if (encoding !== 'text' && encoding !== 'base64') {
      throw new SandboxError('invalid_request', "'encoding' must be text or base64.");
    }
    await using file = await reader.open(path);
    const { size } = file;
    const truncated = size > maxBytes;
    const digest = includeSha256 && truncated ? await file.sha256(signal) : undefined;
    const bytes = await readBytes(file, Math.min(size, maxBytes), signal);
    const sha256 = digest ?? (includeSha256 ? createHash('sha256').update(bytes).digest('hex') : undefined);
    // A character that the limit cuts in half is left out.
    const whole = encoding === 'text' && truncated ? bytes.subarray(0, completeLength(bytes)) : bytes;
    return {
      path: file.path,
      encoding,
      content: whole.toString(encoding === 'text' ? 'utf8' : 'base64'),
      size,
      truncated,
      ...(sha256 === undefined ? {} : { sha256 }),
    };
  });
}

export function listArtifacts(
  reader: WorkspaceReader,
  path: string,
  { timeoutS, ...options }: ListArtifactsOptions,
  defaultTimeoutS: number,
): Promise<ArtifactListing> {
  return withinTime(timeoutS ?? defaultTimeoutS, (signal) => reader.list(path, { ...options, signal }));
}

export function archiveArtifacts(
  reader: WorkspaceReader,
  path: string,
  options: ArchiveArtifactsOptions,
  defaultTimeoutS: number,
): Promise<ArtifactArchive> {
  const { archiveFormat = 'tar.gz', maxBytes = DEFAULT_ARCHIVE_BYTES, maxEntries, timeoutS } = options;
  return withinTime(timeoutS ?? defaultTimeoutS, async (signal) => {
    const stream = await reader.archive(path, { format: archiveFormat, maxBytes, maxEntries, signal });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return { archiveFormat, content: Buffer.concat(chunks) };
  });
}

async function readBytes(file: ArtifactFile, length: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.stream({ start: 0, end: length })) {
    signal.throwIfAborted();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function withinTime<T>(timeoutS: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (!(timeoutS > 0)) throw new SandboxError('invalid_request', "'timeoutS' must be over 0.");
  const signal = AbortSignal.timeout(Math.min(timeoutS, MAX_TIMEOUT_S) * 1000);
  try {
    return await work(signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new SandboxError('artifact_timeout', `Not finished within ${timeoutS} s.`, { cause });
  }
}
