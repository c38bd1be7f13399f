/**
 * A checkpoint, read like a workspace (artifacts.ts of the sandbox): in the same order, with the same limits, names and errors.
 *
 * - Nothing changes while it is read, so no stream ends with `artifact_changed`, and digests cost nothing.
 * - What the checkpoint does not hold is `artifact_not_found`; the message says whether it was left out, and why.
 * - An absolute path begins with the directory of isolated commands, because the files belong to no machine any more.
 */
import { Readable } from 'node:stream';
import {
  type ArchiveOptions,
  type Artifact,
  type ArtifactFile,
  type ArtifactListing,
  archiveTree,
  fromCapturedPath,
  type ListOptions,
  requestedPath,
  SandboxError,
  type TreeEntry,
  WORKSPACE_DIR,
  type WorkspaceReader,
} from '@talaria/sandbox';
import { type CheckpointEntry, type CheckpointFiles, entryKey } from './checkpoint-tree.ts';
import { entryBytes } from './entry-bytes.ts';
import { Omissions } from './omissions.ts';

const DEFAULT_MAX_ENTRIES = 10_000;
/** The longest name that Linux allows; a workspace refuses longer ones. */
const MAX_NAME_BYTES = 255;

export class CheckpointReader implements WorkspaceReader {
  readonly #files: CheckpointFiles;

  constructor(files: CheckpointFiles) {
    this.#files = files;
  }

  async list(path: string, options: ListOptions = {}): Promise<ArtifactListing> {
    const { recursive = false, maxEntries = DEFAULT_MAX_ENTRIES } = options;
    const start = this.#find(path);
    if (start?.type === 'file') return { entries: [toArtifact(start)], truncated: false };
    const entries: Artifact[] = [];
    for (const entry of inOrder(this.#below(start), start, recursive)) {
      if (entries.length >= maxEntries) return { entries, truncated: true };
      entries.push(toArtifact(entry));
    }
    return { entries, truncated: false };
  }

  async open(path: string): Promise<ArtifactFile> {
    const entry = this.#find(path);
    if (entry === undefined) throw invalid('The path is the workspace itself, not a file in it.');
    if (entry.type === 'directory') throw invalid(`${entry.path} is a directory.`);
    return new CheckpointFile(this.#files, entry);
  }

  async archive(path: string, options: ArchiveOptions = {}): Promise<Readable> {
    const start = this.#find(path);
    const [entries, prefix] =
      start?.type === 'file'
        ? [[start], directoryOf(fromCapturedPath(start))]
        : [this.#below(start), prefixOf(start)];
    return archiveTree(() => this.#treeEntries(entries, prefix.length), options);
  }

  /** Undefined for the workspace itself. */
  #find(path: string): CheckpointEntry | undefined {
    const components = requestedPath(path, WORKSPACE_DIR);
    let found: CheckpointEntry | undefined;
    for (const [index, name] of components.entries()) {
      const here = components.slice(0, index + 1).join('/');
      found = this.#files.tree.get(entryKey({ path: here }));
      if (found === undefined) throw this.#missing(here, name);
      if (found.type === 'symlink') throw invalid(`${here} is a symbolic link, which is not followed.`);
      if (found.type === 'file' && index < components.length - 1)
        throw invalid(`${here} is not a directory.`);
    }
    return found;
  }

  #missing(path: string, name: string): SandboxError {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) return invalid(`${path} has a name that is too long.`);
    return new SandboxError(
      'artifact_not_found',
      new Omissions(this.#files).explain(fromCapturedPath({ path })),
    );
  }

  /** All entries below `start`, in the order of the tree. */
  *#below(start: CheckpointEntry | undefined): Generator<CheckpointEntry, void> {
    const prefix = prefixOf(start);
    for (const entry of this.#files.tree.values()) {
      if (prefix === '' || fromCapturedPath(entry).startsWith(prefix)) yield entry;
    }
  }

  async *#treeEntries(entries: Iterable<CheckpointEntry>, skipped: number): AsyncGenerator<TreeEntry, void> {
    for (const entry of entries) {
      yield {
        name: Buffer.from(fromCapturedPath(entry).slice(skipped), 'latin1'),
        type: entry.type,
        size: entry.size,
        mode: entry.mode,
        modifiedMs: entry.modified_ms,
        content: () => entryBytes(this.#files, entry),
      };
    }
  }
}

class CheckpointFile implements ArtifactFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
  readonly #files: CheckpointFiles;
  readonly #entry: CheckpointEntry;

  constructor(files: CheckpointFiles, entry: CheckpointEntry) {
    this.path = entry.path;
    this.size = entry.size;
    this.modifiedAt = entry.modified_ms / 1000;
    this.#files = files;
    this.#entry = entry;
  }

  async sha256(): Promise<string> {
    return this.#entry.sha256!;
  }

  stream(range?: { start: number; end: number }): Readable {
    return Readable.from(entryBytes(this.#files, this.#entry, range), { objectMode: false });
  }

  /** There is nothing to close. */
  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Directory by directory; in each by the bytes of the name; the entries of a directory come after its siblings. */
function* inOrder(
  entries: Iterable<CheckpointEntry>,
  start: CheckpointEntry | undefined,
  recursive: boolean,
): Generator<CheckpointEntry, void> {
  const children = new Map<string, { path: string; entry: CheckpointEntry }[]>();
  for (const entry of entries) {
    const path = fromCapturedPath(entry);
    const prefix = directoryOf(path);
    const siblings = children.get(prefix);
    if (siblings) siblings.push({ path, entry });
    else children.set(prefix, [{ path, entry }]);
  }
  const pending = [prefixOf(start)];
  for (let prefix = pending.pop(); prefix !== undefined; prefix = pending.pop()) {
    const siblings = (children.get(prefix) ?? []).sort((one, other) => (one.path < other.path ? -1 : 1));
    for (const { entry } of siblings) yield entry;
    if (!recursive) return;
    for (const { path, entry } of siblings.toReversed()) {
      if (entry.type === 'directory') pending.push(`${path}/`);
    }
  }
}

/** The beginning of all paths below the directory. */
function prefixOf(directory: CheckpointEntry | undefined): string {
  return directory === undefined ? '' : `${fromCapturedPath(directory)}/`;
}

/** The path up to and including its last slash. */
function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

function toArtifact({ path, type, size, modified_ms }: CheckpointEntry): Artifact {
  return { path, type, size: type === 'file' ? size : 0, modifiedAt: modified_ms / 1000 };
}

function invalid(message: string): SandboxError {
  return new SandboxError('invalid_path', message);
}
