/** An entry of a tree: a file, a directory or a link, in its state when it was opened. */
export interface TreeEntry {
  /** Relative to where the tree begins, with `/`, in the bytes it has on disk. */
  name: Buffer;
  type: 'file' | 'directory' | 'symlink';
  /** For a link, the length of its target; for a directory, 0. */
  size: number;
  mode: number;
  modifiedMs: number;
  /** Exactly `size` bytes, or an error; for a link, its target. Read it before the next entry. */
  content(): AsyncGenerator<Buffer, void>;
}

/** The entries that go into an archive. */
export interface ArchiveEntry extends TreeEntry {
  type: 'file' | 'directory';
}
