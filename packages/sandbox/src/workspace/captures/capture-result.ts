/** A capture in the making. */
import type { OmissionReason, WorkspaceCapture } from '../../captures.ts';
import { toCapturedPath } from './captured-path.ts';
import { type CapturedTree, looksLike, type TreeNode, toEntry } from './captured-tree.ts';

/** A capture names at most this many omitted entries, and only counts the others. */
export const MAX_OMITTED = 1000;

export type CaptureResult = Omit<WorkspaceCapture, 'captureId'> & { tree: CapturedTree };

export interface CaptureScope {
  /** It names every file, not only those that changed since another capture. */
  isWhole: boolean;
  /** How many bytes of contents are handed over. */
  contentBytes: number;
}

/** The entries of a directory, before and now. */
export interface Compared {
  /** The beginning of their paths: '' in the root, else it ends with a slash. */
  prefix: string;
  before: Map<string, TreeNode> | undefined;
  now: Map<string, TreeNode>;
}

export class CaptureInProgress {
  readonly #isWhole: boolean;
  readonly #contents = new Map<string, Uint8Array>();
  #contentBytesLeft: number;
  readonly #changed: WorkspaceCapture['changed'] = [];
  readonly #removed: WorkspaceCapture['removed'] = [];
  readonly #omitted: WorkspaceCapture['omitted'] = [];
  #omittedCount = 0;
  #bytes = 0;
  entries = 0;

  constructor({ isWhole, contentBytes }: CaptureScope) {
    this.#isWhole = isWhole;
    this.#contentBytesLeft = contentBytes;
  }

  /** The size up to which the content of the next file can be handed over. */
  get contentRoom(): number {
    return this.#contentBytesLeft;
  }

  addContent(sha256: string, bytes: Uint8Array): void {
    if (this.#contents.has(sha256)) return;
    this.#contents.set(sha256, bytes);
    this.#contentBytesLeft -= bytes.length;
  }

  add({ prefix, before, now }: Compared, name: string, node: TreeNode): void {
    now.set(name, node);
    this.entries++;
    if (node.type === 'file') this.#bytes += node.size;
    const earlier = before?.get(name);
    // A directory became something else: the caller must also remove what was below it.
    if (earlier?.type === 'directory' && node.type !== 'directory') this.#remove(prefix + name);
    if (earlier !== node && !looksLike(node, earlier)) this.#changed.push(toEntry(prefix + name, node));
  }

  /** When all names of a directory are known. */
  compareNames({ prefix, before, now }: Compared): void {
    if (before === undefined) return;
    for (const name of before.keys()) if (!now.has(name)) this.#remove(prefix + name);
  }

  omit(path: string, reason: OmissionReason): undefined {
    if (++this.#omittedCount <= MAX_OMITTED) this.#omitted.push({ ...toCapturedPath(path), reason });
  }

  toCapture(tree: CapturedTree): CaptureResult {
    return {
      isWhole: this.#isWhole,
      changed: this.#changed,
      removed: this.#removed,
      omitted: this.#omitted,
      omittedCount: this.#omittedCount,
      entries: this.entries,
      bytes: this.#bytes,
      contents: this.#contents,
      tree,
    };
  }

  #remove(path: string): void {
    this.#removed.push(toCapturedPath(path));
  }
}
