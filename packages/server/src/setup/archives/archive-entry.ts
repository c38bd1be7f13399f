/** An entry of an archive as its reader found it. Nothing about it has been checked yet. */
export interface ArchivedEntry {
  /** The bytes of the name as the archive has them; the name of a directory may end with a slash. */
  name: Buffer;
  type: 'file' | 'directory' | 'symlink';
  /** The size of a file; 0 for everything else. */
  size: number;
  mode: number;
  modifiedMs: number;
  /** Only for a link. */
  target?: Buffer;
  /** Exactly `size` bytes, or an error. Read it before the next entry. */
  content(): AsyncGenerator<Buffer, void>;
}

/** Bytes that can be read in any part, such as a stored file. */
export interface ArchiveSource {
  readonly size: number;
  /** The bytes from `start` up to but not including `end`. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

export interface ArchiveLimits {
  maxEntries: number;
  /** The size of all files together. */
  maxBytes: number;
  /** The limits of the whole workspace. The two above are what earlier parts have left of them. */
  whole?: { maxEntries?: number | undefined; maxBytes?: number | undefined } | undefined;
}

export function tooLarge({ maxBytes, whole }: ArchiveLimits): ArchiveError {
  return new ArchiveError(
    whole?.maxBytes === undefined
      ? `it unpacks to more than ${maxBytes} bytes`
      : `with it the parts of the workspace have more than ${whole.maxBytes} bytes`,
  );
}

export function tooMany({ maxEntries, whole }: ArchiveLimits): ArchiveError {
  return new ArchiveError(
    whole?.maxEntries === undefined
      ? `it has more than ${maxEntries} entries`
      : `with it the parts of the workspace have more than ${whole.maxEntries} entries`,
  );
}

/** The archive is not one that can be unpacked; the message is for the client. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

const SHOWN_MAX = 200;

/** A name as an error may show it. */
export function shownName(name: Buffer): string {
  const text = name.toString('utf8').replace(/\p{Cc}/gu, '\ufffd');
  return JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text);
}

export async function* noContent(): AsyncGenerator<Buffer, void> {}
