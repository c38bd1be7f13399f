/** How the holder of a slot gets files of its workspace, the same for every backend: in one piece, limited in size and time. */
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
} from '../artifacts.ts';
import type { Slot } from '../backend.ts';
import { requireCount } from '../check-numbers.ts';
import { SandboxError } from '../errors.ts';
import { LONGEST_TIMER_S } from '../longest-timer.ts';
import { countEntries } from './artifacts/count-entries.ts';
import { completeLength } from './files/utf8.ts';

const DEFAULT_READ_BYTES = 10_000_000;
const DEFAULT_ARCHIVE_BYTES = 64_000_000;

export abstract class SlotArtifacts {
  abstract readonly defaultTimeoutS: number;

  /** Throws `slot_gone` for a slot that is not held. */
  protected abstract readerOf(slot: Slot): WorkspaceReader;

  async readArtifact(slot: Slot, path: string, options: ReadArtifactOptions = {}): Promise<ArtifactContent> {
    const { encoding = 'text', maxBytes = DEFAULT_READ_BYTES, includeSha256 = false } = options;
    const reader = this.readerOf(slot);
    return this.#withinTime(options.timeoutS, async (signal) => {
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

  async listArtifacts(slot: Slot, path = '.', options: ListArtifactsOptions = {}): Promise<ArtifactListing> {
    const reader = this.readerOf(slot);
    const { timeoutS, ...rest } = options;
    return this.#withinTime(timeoutS, (signal) => reader.list(path, { ...rest, signal }));
  }

  async archiveArtifacts(
    slot: Slot,
    path = '.',
    options: ArchiveArtifactsOptions = {},
  ): Promise<ArtifactArchive> {
    const { archiveFormat = 'tar.gz', maxBytes = DEFAULT_ARCHIVE_BYTES, maxEntries, timeoutS } = options;
    const reader = this.readerOf(slot);
    return this.#withinTime(timeoutS, async (signal) => {
      const stream = await reader.archive(path, { format: archiveFormat, maxBytes, maxEntries, signal });
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      const content = Buffer.concat(chunks);
      return { archiveFormat, content, entryCount: await countEntries(archiveFormat, content) };
    });
  }

  async #withinTime<T>(
    timeoutS = this.defaultTimeoutS,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (!(timeoutS > 0)) throw new SandboxError('invalid_request', "'timeoutS' must be over 0.");
    const signal = AbortSignal.timeout(Math.ceil(Math.min(timeoutS, LONGEST_TIMER_S) * 1000));
    try {
      return await work(signal);
    } catch (cause) {
      if (!signal.aborted) throw cause;
      throw new SandboxError('artifact_timeout', `Not finished within ${timeoutS} s.`, { cause });
    }
  }
}

async function readBytes(file: ArtifactFile, length: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.stream({ start: 0, end: length })) {
    signal.throwIfAborted();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
