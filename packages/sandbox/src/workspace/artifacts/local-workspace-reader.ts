/**
 * Reads a workspace directory on this machine. Every call opens what it needs and closes it with its answer. A backend
 * may move the directory at any time: an open file stays the same one, and a name that was not found in the old place
 * is looked up again. Whole outputs are beside the workspace: they can be opened by their paths, and nothing lists them.
 */
import type { Stats } from 'node:fs';
import type { Readable } from 'node:stream';
import type {
  ArchiveOptions,
  ArtifactFile,
  ArtifactListing,
  ListOptions,
  WorkspaceReader,
} from '../../artifacts.ts';
import { requireCount } from '../../check-numbers.ts';
import { InvalidPathError } from '../files/path-components.ts';
import { explainMissing, outputComponents } from '../files/whole-outputs.ts';
import { assertRegular, openDirectory, openReference, openReferenced } from '../files/workspace-path.ts';
import { archiveTree } from './archive.ts';
import { treeEntries } from './archive-entries.ts';
import type { Digests } from './digests.ts';
import { nameFailures } from './failures.ts';
import { listTree, toArtifact } from './list.ts';
import { LocalArtifactFile } from './local-artifact-file.ts';
import { requestedPath } from './requested-path.ts';
import { atPlace, type SeenAs, type WorkspacePlace } from './workspace-place.ts';

const DEFAULT_MAX_ENTRIES = 10_000;

export interface ReadDirectory {
  place: WorkspacePlace;
  /** Its /tmp: the components below a directory that may move with the workspace. */
  tmp: { base: WorkspacePlace; within: readonly string[] };
  seenAs: SeenAs;
  digests: Digests;
}

export class LocalWorkspaceReader implements WorkspaceReader {
  readonly #read: ReadDirectory;

  constructor(read: ReadDirectory) {
    this.#read = read;
  }

  list(
    path: string,
    { recursive = false, maxEntries = DEFAULT_MAX_ENTRIES, signal }: ListOptions = {},
  ): Promise<ArtifactListing> {
    return this.#reading(async (dir) => {
      requireCount('maxEntries', maxEntries);
      const components = this.#components(path);
      const file = await fileAt(dir, components);
      if (file) return { entries: [toArtifact(components, file)], truncated: false };
      await using workspace = await openDirectory(dir, []);
      const root = `/proc/self/fd/${workspace.fd}/.`;
      return await listTree(root, components, { recursive, maxEntries, signal });
    });
  }

  async open(path: string): Promise<ArtifactFile> {
    const { seenAs, tmp } = this.#read;
    const output = await nameFailures(async () => outputComponents(path, seenAs.tmpDir));
    if (!output) {
      const components = this.#components(path);
      return this.#reading((dir) => this.#openAt(dir, components, components.join('/')));
    }
    return this.#reading(
      (base) =>
        explainMissing(path, async () => {
          await using directory = await openDirectory(base, tmp.within);
          return await this.#openAt(`/proc/self/fd/${directory.fd}/.`, output, path);
        }),
      tmp.base,
    );
  }

  archive(path: string, options: ArchiveOptions = {}): Promise<Readable> {
    return this.#reading(async (dir) => {
      const components = this.#components(path);
      const isFile = (await fileAt(dir, components)) !== undefined;
      if (!isFile) await (await openDirectory(dir, components)).close();
      const source = { place: this.#read.place, components, isFile };
      return archiveTree((signal) => treeEntries(source, { signal }), options);
    });
  }

  #components(path: string): string[] {
    return requestedPath(path, this.#read.seenAs.dir);
  }

  async #openAt(root: string, components: readonly string[], path: string): Promise<ArtifactFile> {
    const name = components.at(-1);
    if (name === undefined) throw new InvalidPathError('The path is the workspace itself, not a file in it.');
    await using parent = await openDirectory(root, components.slice(0, -1));
    await using reference = await openReference(parent, name, components);
    assertRegular(await reference.stat(), components);
    await using opened = new AsyncDisposableStack();
    const file = opened.use(await openReferenced(reference, components));
    const stats = await file.stat({ bigint: true });
    opened.move();
    return new LocalArtifactFile(path, file, stats, this.#read.digests);
  }

  #reading<T>(work: (dir: string) => Promise<T>, place = this.#read.place): Promise<T> {
    return nameFailures(() => atPlace(place, work));
  }
}

/** Undefined for a directory; anything that is neither is refused. */
async function fileAt(dir: string, components: readonly string[]): Promise<Stats | undefined> {
  const name = components.at(-1);
  if (name === undefined) return undefined;
  await using parent = await openDirectory(dir, components.slice(0, -1));
  await using reference = await openReference(parent, name, components);
  const stats = await reference.stat();
  if (stats.isDirectory()) return undefined;
  assertRegular(stats, components);
  return stats;
}
