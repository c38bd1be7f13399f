/**
 * The directories of a tree, one after the other, each opened from the root without following a link.
 *
 * Only one is open at a time, so the number of open files does not grow with the depth. Each needs a walk from the
 * root, hence the limit to the depth.
 */
import { type FileHandle, opendir } from 'node:fs/promises';
import { describeErrors, type Name, openDirectory } from '../files/workspace-path.ts';
import { isPassing } from './failures.ts';

export const MAX_DEPTH = 100;

export interface WalkedDirectory {
  /** From the root. */
  components: readonly Name[];
  handle: FileHandle;
  names(): AsyncGenerator<Buffer, void>;
}

export class Walk {
  readonly #root: string;
  readonly #pending: PendingDirectories<Name>;
  /** Directories that could not be read. */
  skipped = 0;

  constructor(root: string, start: readonly Name[]) {
    this.#root = root;
    this.#pending = new PendingDirectories(start);
  }

  /** Queues directories found in the present one, and says how many are too deep. */
  descend(found: readonly (readonly Name[])[]): number {
    return this.#pending.descend(found);
  }

  async *directories(signal?: AbortSignal): AsyncGenerator<WalkedDirectory, void> {
    let isStart = true;
    for (let components = this.#pending.next(); components; components = this.#pending.next()) {
      signal?.throwIfAborted();
      await using handle = await this.#enter(components, isStart);
      if (handle) yield { components, handle, names: () => namesIn(handle, components) };
      isStart = false;
    }
  }

  async #enter(components: readonly Name[], isStart: boolean): Promise<FileHandle | undefined> {
    try {
      return await openDirectory(this.#root, components);
    } catch (error) {
      if (isStart || !isPassing(error)) throw error;
      this.skipped++;
      return undefined;
    }
  }
}

/** The directories that a walk has yet to enter: everything in a directory comes before its neighbour. */
export class PendingDirectories<Part> {
  readonly #paths: (readonly Part[])[];

  constructor(start: readonly Part[]) {
    this.#paths = [start];
  }

  next(): readonly Part[] | undefined {
    return this.#paths.pop();
  }

  /**
   * Queues directories found in the present one. Those that are too deep are not queued: the return value says how
   * many.
   */
  descend(found: readonly (readonly Part[])[]): number {
    const taken = found.filter((path) => path.length <= MAX_DEPTH);
    // One by one: a directory can hold more entries than a call can have arguments.
    for (const path of taken.toReversed()) this.#paths.push(path);
    return found.length - taken.length;
  }
}

async function* namesIn(handle: FileHandle, components: readonly Name[]): AsyncGenerator<Buffer, void> {
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: 256 };
  const directory = await describeErrors(components, () => opendir(`/proc/self/fd/${handle.fd}`, options));
  // With this encoding names are buffers, which the types of node:fs do not know.
  for await (const entry of directory) yield entry.name as unknown as Buffer;
}
