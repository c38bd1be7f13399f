/**
 * Reads a workspace directory on this machine. Every call opens what it needs and closes it with its answer. A backend
 * may move the directory at any time: an open file stays the same one, and a name that was not found in the old place
 * is looked up again.
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
import { assertRegular, openDirectory, openReference, openReferenced } from '../files/workspace-path.ts';
import { archiveTree } from './archive.ts';
import { treeEntries } from './archive-entries.ts';
import type { Digests } from './digests.ts';
import { nameFailures } from './failures.ts';
import { listTree, toArtifact } from './list.ts';
import { LocalArtifactFile } from './local-artifact-file.ts';
import { requestedPath } from './requested-path.ts';
import { atPlace, type WorkspacePlace } from './workspace-place.ts';

const DEFAULT_MAX_ENTRIES = 10_000;

export class LocalWorkspaceReader implements WorkspaceReader {
  readonly #place: WorkspacePlace;
  readonly #workspaceDir: string;
  readonly #digests: Digests;

  /** `workspaceDir` is the directory as commands see it. */
  constructor(place: WorkspacePlace, workspaceDir: string, digests: Digests) {
    this.#place = place;
    this.#workspaceDir = workspaceDir;
    this.#digests = digests;
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

  open(path: string): Promise<ArtifactFile> {
    return this.#reading(async (dir) => {
      const components = this.#components(path);
      const name = components.at(-1);
      if (name === undefined)
        throw new InvalidPathError('The path is the workspace itself, not a file in it.');
      await using parent = await openDirectory(dir, components.slice(0, -1));
      await using reference = await openReference(parent, name, components);
      assertRegular(await reference.stat(), components);
      await using opened = new AsyncDisposableStack();
      const file = opened.use(await openReferenced(reference, components));
      const stats = await file.stat({ bigint: true });
      opened.move();
      return new LocalArtifactFile(components.join('/'), file, stats, this.#digests);
    });
  }

  archive(path: string, options: ArchiveOptions = {}): Promise<Readable> {
    return this.#reading(async (dir) => {
      const components = this.#components(path);
      const isFile = (await fileAt(dir, components)) !== undefined;
      if (!isFile) await (await openDirectory(dir, components)).close();
      const source = { place: this.#place, components, isFile };
      return archiveTree((signal) => treeEntries(source, { signal }), options);
    });
  }

  #components(path: string): string[] {
    return requestedPath(path, this.#workspaceDir);
  }

  #reading<T>(work: (dir: string) => Promise<T>): Promise<T> {
    return nameFailures(() => atPlace(this.#place, work));
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
