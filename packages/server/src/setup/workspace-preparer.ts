/**
 * Puts in place what a run begins with, before its first step: the files of another run, a directory of the operator, repositories, archives, and
 * files. What comes later in this order goes over what came before.
 *
 * It begins from scratch: whatever an earlier attempt has left is deleted first. Each part arrives in the workspace as a
 * whole, so a killed server leaves no half file. What fails names its part, because that is what the client can change.
 */
import { realpath } from 'node:fs/promises';
import type { WorkspaceGit } from '@talaria/protocol';
import {
  packDirectory,
  packTree,
  SandboxError,
  type TrajectoryWorkspaces,
  type TreeEntry,
  type WorkspaceWriter,
} from '@talaria/sandbox';
import { RunFailure } from '../agent/agent-run.ts';
import { failpoint } from '../basics/failpoints.ts';
import type { Log } from '../basics/log.ts';
import { BlobGoneError, type BlobStore } from '../blobs/blob-store.ts';
import type { OperatorDirectory } from '../config/index.ts';
import { LeaseLostError } from '../journal/journal.ts';
import { isStoreError } from '../journal/store-error.ts';
import type { SetupFile, WorkspaceSetup } from '../journal/workspace-setup.ts';
import { ArchiveError, type ArchiveLimits } from './archives/archive-entry.ts';
import { checkedEntries } from './archives/checked-entries.ts';
import { openArchive } from './archives/open-archive.ts';
import { isAllowed } from './directory-mounts.ts';
import { CloneError, clone, type RunCommand } from './git/clone.ts';
import { fileEntries, sourceOf } from './setup-contents.ts';

/** How many bytes an archive may unpack to for each of its own, beyond what every archive may unpack to. */
const MAX_RATIO = 200;
const FREE_BYTES = 64 * 1024 * 1024;

export interface SetupLimits {
  /** The size of all files that are brought in, whichever part they come with. What git fetches is work of the run instead. */
  maxBytes: number;
  /** Files, directories and links. */
  maxEntries: number;
}

/** What is different for each run. */
export interface RunSetup {
  runId: string;
  /** The name of the API key. */
  owner: string;
  setup: WorkspaceSetup;
  /** Creates the workspace from the files of another run. */
  inherit?: (() => Promise<void>) | undefined;
  run: RunCommand;
  signal: AbortSignal;
}

export interface PreparerOptions {
  workspaces: TrajectoryWorkspaces;
  blobs: Pick<BlobStore, 'read'>;
  limits: SetupLimits;
  directories: readonly OperatorDirectory[];
  /** Whether commands reach the network. */
  allowNetwork: boolean;
  mask(text: string): string;
  log: Log;
}

class MissingDirectory extends Error {
  override readonly name = 'MissingDirectory';
}

export class WorkspacePreparer {
  readonly #options: PreparerOptions;

  constructor(options: PreparerOptions) {
    this.#options = options;
  }

  /** Rejects with a `RunFailure`, or with the reason of the signal. No slot may hold the workspace. */
  async prepare({ runId, owner, setup, inherit, run, signal }: RunSetup): Promise<void> {
    const { workspaces, limits, log } = this.#options;
    const startedAt = performance.now();
    const left = { ...limits };
    const writer = await this.#part('workspace', signal, async () => {
      await workspaces.discard(runId);
      failpoint('setup.after-clear');
      await inherit?.();
      return (await workspaces.openWriter(runId, { create: true }))!;
    });
    if (setup.directory !== undefined) {
      const directory = { name: setup.directory, owner };
      await this.#part('workspace.directory', signal, () => this.#copy(writer, directory, left, signal));
    }
    for (const [i, git] of (setup.git ?? []).entries()) {
      await this.#part(`workspace.git[${i}]`, signal, () => this.#clone(git, run, signal));
    }
    for (const [i, archive] of (setup.archives ?? []).entries()) {
      await this.#part(`workspace.archives[${i}]`, signal, () => this.#unpack(writer, archive, left, signal));
    }
    const { files = [] } = setup;
    if (files.length > 0) {
      await this.#part('workspace.files', signal, () => this.#write(writer, files, left, signal));
    }
    const durationMs = Math.round(performance.now() - startedAt);
    const entries = limits.maxEntries - left.maxEntries;
    log.info({ runId, durationMs, entries }, 'the workspace of the run is prepared');
  }

  async #copy(
    writer: WorkspaceWriter,
    { name, owner }: { name: string; owner: string },
    left: SetupLimits,
    signal: AbortSignal,
  ): Promise<void> {
    const { directories, log } = this.#options;
    // The operator may have changed the configuration since the run was accepted.
    const known = directories.find((one) => one.name === name && isAllowed(one, owner));
    if (known === undefined) throw new MissingDirectory(`the server has no directory '${name}' any more`);
    const root = await realpath(known.path).catch((error: NodeJS.ErrnoException) => {
      log.warn({ directory: name, err: error }, 'a directory cannot be copied');
      const problem = error.code === 'ENOENT' ? 'does not exist' : 'cannot be used';
      // No client may know the path itself.
      throw new MissingDirectory(
        `the path of the directory '${name}' ${problem} on the server, whose log names it`,
      );
    });
    const { maxBytes, maxEntries } = left;
    const onEntry = (size: number) => take(left, size);
    const packed = packDirectory(root, { maxBytes, maxEntries, onEntry, signal });
    const { omitted } = await writer.merge(packed, { signal });
    failpoint('setup.after-part');
    // Sockets and FIFOs; a copy of them would be of no use.
    if (omitted > 0) log.warn({ directory: name, omitted }, 'entries of a directory could not be copied');
  }

  async #clone(git: WorkspaceGit, run: RunCommand, signal: AbortSignal): Promise<void> {
    if (!this.#options.allowNetwork) {
      throw new CloneError(
        'the sandbox has no network; the operator can allow it with TALARIA_ALLOW_NETWORK',
      );
    }
    await clone(git, run, signal);
    failpoint('setup.after-part');
  }

  async #unpack(
    writer: WorkspaceWriter,
    { path, ...content }: SetupFile,
    left: SetupLimits,
    signal: AbortSignal,
  ): Promise<void> {
    const source = sourceOf(content, this.#options.blobs);
    const forItsSize = FREE_BYTES + MAX_RATIO * source.size;
    const limits = this.#limitsOf(left);
    if (forItsSize < left.maxBytes) {
      limits.maxBytes = forItsSize;
      limits.whole = { ...limits.whole, maxBytes: undefined };
    }
    const entries = checkedEntries(openArchive(source, limits), path, limits);
    await merge(writer, counted(entries, left), signal);
  }

  async #write(
    writer: WorkspaceWriter,
    files: readonly SetupFile[],
    left: SetupLimits,
    signal: AbortSignal,
  ): Promise<void> {
    const given = fileEntries(files, this.#options.blobs, Date.now());
    await merge(writer, counted(checkedEntries(given, '.', this.#limitsOf(left)), left), signal);
  }

  #limitsOf({ maxEntries, maxBytes }: SetupLimits): ArchiveLimits {
    return { maxEntries, maxBytes, whole: this.#options.limits };
  }

  async #part<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LeaseLostError || isStoreError(error)) throw error;
      const reason = reasonOf(error);
      if (reason === undefined)
        this.#options.log.error({ err: error, part: name }, 'a workspace could not be prepared');
      const told = reason ?? 'the server failed; its log has the details';
      throw new RunFailure('workspace_setup', this.#options.mask(`${name}: ${told}`));
    }
  }
}

async function merge(
  writer: WorkspaceWriter,
  entries: AsyncIterable<TreeEntry>,
  signal: AbortSignal,
): Promise<void> {
  const { omitted } = await writer.merge(packTree(entries, { signal }), { signal });
  failpoint('setup.after-part');
  if (omitted > 0) throw new ArchiveError(`${omitted} of its entries could not be created`);
}

async function* counted(
  entries: AsyncIterable<TreeEntry>,
  left: SetupLimits,
): AsyncGenerator<TreeEntry, void> {
  for await (const entry of entries) {
    take(left, entry.size);
    yield entry;
  }
}

function take(left: SetupLimits, size: number): void {
  left.maxEntries -= 1;
  left.maxBytes -= size;
}

/** The reason to show the client; undefined if the failure is not the client's business. */
function reasonOf(error: unknown): string | undefined {
  const isTold =
    error instanceof ArchiveError ||
    error instanceof CloneError ||
    error instanceof MissingDirectory ||
    error instanceof SandboxError;
  if (isTold) return error.message;
  if (error instanceof BlobGoneError) return 'its contents do not exist any more';
  return undefined;
}
