/** A writer for any backend: it stages the content, and then puts it into the workspace, wherever that is at that time. */
import type { MergedTree, RemoveOptions, WorkspaceWriter, WriteOptions, WrittenFile } from '../../writing.ts';
import type { Staging } from './staging.ts';
import type { WritableWorkspace } from './workspace-directory.ts';

/** Calls `work` with the workspace while it stays in its place. */
export type InPlace = <T>(work: (workspace: WritableWorkspace) => Promise<T>) => Promise<T>;

export class StagedWriter implements WorkspaceWriter {
  readonly #staging: Staging;
  readonly #inPlace: InPlace;

  constructor(staging: Staging, inPlace: InPlace) {
    this.#staging = staging;
    this.#inPlace = inPlace;
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: WriteOptions = {},
  ): Promise<WrittenFile> {
    const { ifMatch, ifNoneMatch, signal } = options;
    await using staged = await this.#staging.file(content, options);
    return await this.#inPlace((workspace) => {
      signal?.throwIfAborted();
      return workspace.put(path, staged, { ifMatch, ifNoneMatch });
    });
  }

  remove(path: string, options: RemoveOptions = {}): Promise<void> {
    return this.#inPlace((workspace) => workspace.remove(path, options));
  }

  async merge(
    snapshot: AsyncIterable<Uint8Array>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<MergedTree> {
    await using tree = await this.#staging.tree(snapshot, signal);
    return await this.#inPlace((workspace) => {
      signal?.throwIfAborted();
      return workspace.merge(tree);
    });
  }
}
