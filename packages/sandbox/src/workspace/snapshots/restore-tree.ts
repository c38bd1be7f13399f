/**
 * Creates a tree from a snapshot, in a directory that nobody else uses yet. Everything is created by name inside the
 * directory opened before it, and no link is followed. If the snapshot was taken of a changing tree, a name can come
 * twice or below something that is not a directory: the first one stays, and the other is counted as left out.
 */
import { chmod, type FileHandle, lutimes, mkdir, symlink, utimes } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import type { RestoredWorkspace } from '../../snapshots.ts';
import type { TreeEntry } from '../artifacts/archive-entry.ts';
import { WorkspacePathError } from '../files/path-components.ts';
import {
  describeErrors,
  inside,
  type Name,
  NEW_FILE,
  openDirectory,
  openInside,
} from '../files/workspace-path.ts';
import { writeAll } from '../files/write-all.ts';
import { ByteReader } from './byte-reader.ts';
import { damaged, decodeNext, nameDamage } from './snapshot-format.ts';

/** Until everything is in a directory, its own permissions must not get in the way. */
const WRITABLE = 0o700;
const IN_THE_WAY = ['EEXIST', 'ENOTDIR', 'ELOOP', 'ENOENT'];

interface Directory {
  components: readonly Name[];
  mode: number;
  modifiedMs: number;
}

export async function restoreTree(
  root: string,
  snapshot: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<RestoredWorkspace> {
  const plain = createZstdDecompress();
  const unpacking = pipeline(snapshot, plain, signal === undefined ? {} : { signal });
  // It is heard of by whoever reads.
  unpacking.catch(() => {});
  try {
    return await restoreEntries(root, new ByteReader(plain));
  } catch (error) {
    throw nameDamage(error);
  } finally {
    plain.destroy();
    await unpacking.catch(() => {});
  }
}

async function restoreEntries(root: string, bytes: ByteReader): Promise<RestoredWorkspace> {
  await using parents = new ParentDirectories(root);
  const directories: Directory[] = [];
  let [entries, omitted] = [0, 0];
  for (;;) {
    const entry = await decodeNext(bytes);
    if (entry.type === 'end') {
      await settleDirectories(root, directories);
      return { entries, omitted: omitted + entry.omitted };
    }
    const components = componentsOf(entry.name);
    try {
      await make(await parents.above(components), components, entry);
      if (entry.type === 'directory') directories.push({ ...entry, components });
      entries++;
    } catch (error) {
      if (!isInTheWay(error)) throw error;
      omitted++;
    }
  }
}

/** The directory in which entries are created. They come directory by directory, so it is mostly the last one. */
class ParentDirectories implements AsyncDisposable {
  readonly #root: string;
  #open: { path: string; handle: FileHandle } | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  async above(components: readonly Buffer[]): Promise<FileHandle> {
    const parents = components.slice(0, -1);
    const path = parents.map((name) => name.toString('latin1')).join('/');
    if (this.#open?.path !== path) {
      await this[Symbol.asyncDispose]();
      this.#open = { path, handle: await openDirectory(this.#root, parents) };
    }
    return this.#open.handle;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.handle.close();
    this.#open = undefined;
  }
}

async function make(parent: FileHandle, components: readonly Buffer[], entry: TreeEntry): Promise<void> {
  const name = components.at(-1)!;
  const path = inside(parent, name);
  const modifiedS = entry.modifiedMs / 1000;
  switch (entry.type) {
    case 'directory':
      await describeErrors(components, () => mkdir(path, { mode: WRITABLE }));
      return;
    case 'symlink': {
      const target: Buffer[] = [];
      for await (const bytes of entry.content()) target.push(bytes);
      await describeErrors(components, () => symlink(Buffer.concat(target), path));
      await lutimes(path, modifiedS, modifiedS);
      return;
    }
    case 'file': {
      await using file = await openInside(parent, name, NEW_FILE, components);
      for await (const bytes of entry.content()) await writeAll(file, bytes);
      await file.chmod(entry.mode);
      await file.utimes(modifiedS, modifiedS);
    }
  }
}

/** The deepest first: work in a directory changes its time, and its permissions may forbid more. */
async function settleDirectories(root: string, directories: readonly Directory[]): Promise<void> {
  for (const { components, mode, modifiedMs } of directories.toReversed()) {
    await using directory = await openDirectory(root, components);
    const path = `/proc/self/fd/${directory.fd}`;
    await utimes(path, modifiedMs / 1000, modifiedMs / 1000);
    await chmod(path, mode);
  }
}

function componentsOf(name: Buffer): Buffer[] {
  // Each character is a byte here, whatever the encoding of the name.
  const components = name.toString('latin1').split('/');
  if (components.some((component) => ['', '.', '..'].includes(component) || component.includes('\0'))) {
    throw damaged();
  }
  return components.map((component) => Buffer.from(component, 'latin1'));
}

function isInTheWay(error: unknown): boolean {
  const { code } = (error instanceof WorkspacePathError ? (error.cause ?? {}) : {}) as NodeJS.ErrnoException;
  return code !== undefined && IN_THE_WAY.includes(code);
}
