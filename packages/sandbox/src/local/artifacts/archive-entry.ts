/** What goes into an archive: a file or a directory, as it was when it was opened. */
export interface ArchiveEntry {
  /** Relative to what is archived, with `/`, in the bytes it has on disk. */
  name: Buffer;
  type: 'file' | 'directory';
  /** 0 for a directory. */
  size: number;
  mode: number;
  modifiedMs: number;
  /** Exactly `size` bytes, or an error. To be read before the next entry is asked for. */
  content(): AsyncGenerator<Buffer, void>;
}
