/** What a tree holds: a file, a directory or a link, as it was when it was opened. */
export interface TreeEntry {
  /** Relative to where the tree begins, with `/`, in the bytes it has on disk. */
  name: Buffer;
  type: 'file' | 'directory' | 'symlink';
  /** Of a link, the length of its target; 0 for a directory. */
  size: number;
  mode: number;
  modifiedMs: number;
  /** Exactly `size` bytes, or an error; of a link, its target. To be read before the next entry is asked for. */
  content(): AsyncGenerator<Buffer, void>;
}

/** What goes into an archive. */
export interface ArchiveEntry extends TreeEntry {
  type: 'file' | 'directory';
}
