/**
 * Collects content before it becomes part of a workspace: beside the workspaces, on the same file system, where a start deletes
 * what a killed process left. So that process leaves nothing in a workspace, and nobody reads a file that is still arriving.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { SandboxError } from '../../errors.ts';
import type { WriteOptions } from '../../writing.ts';
import { ignoreMissing, NEW_FILE } from '../files/workspace-path.ts';
import { writeAll } from '../files/write-all.ts';
import { ownedName } from '../owned-names.ts';
import { removeTree } from '../remove-tree.ts';
import { restoreTree } from '../snapshots/restore-tree.ts';

export interface StagedFile extends AsyncDisposable {
  /** The caller takes the content by moving it away. */
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  read(): Readable;
}

export interface StagedTree extends AsyncDisposable {
  readonly dir: string;
  readonly entries: number;
  readonly omitted: number;
}

export class Staging {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async file(content: AsyncIterable<Uint8Array>, { maxBytes, signal }: WriteOptions): Promise<StagedFile> {
    const path = join(this.#dir, ownedName());
    const hash = createHash('sha256');
    let size = 0;
    const dispose = async () => {
      await ignoreMissing(unlink(path));
    };
    try {
      await using file = await open(path, NEW_FILE, 0o644);
      for await (const bytes of content) {
        signal?.throwIfAborted();
        size += bytes.byteLength;
        if (maxBytes !== undefined && size > maxBytes) {
          throw new SandboxError('artifact_too_large', `The file is over ${maxBytes} bytes.`);
        }
        hash.update(bytes);
        await writeAll(file, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      }
    } catch (error) {
      await dispose();
      throw isDiskFull(error) ? full(error) : error;
    }
    return {
      path,
      size,
      sha256: hash.digest('hex'),
      read: () => createReadStream(path),
      [Symbol.asyncDispose]: dispose,
    };
  }

  async tree(snapshot: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<StagedTree> {
    const dir = join(this.#dir, ownedName());
    await mkdir(dir, { mode: 0o700 });
    const dispose = async () => {
      if (await ignoreMissing(lstat(dir))) await removeTree(dir);
    };
    try {
      const { entries, omitted } = await restoreTree(dir, snapshot, signal);
      return { dir, entries, omitted, [Symbol.asyncDispose]: dispose };
    } catch (error) {
      await dispose();
      throw isDiskFull(error) ? full(error) : error;
    }
  }
}

function isDiskFull(error: unknown): boolean {
  const { code, cause } = error as NodeJS.ErrnoException;
  const caused = (cause as NodeJS.ErrnoException | undefined)?.code;
  return [code, caused].some((known) => known === 'ENOSPC' || known === 'EDQUOT');
}

function full(cause: unknown): SandboxError {
  return new SandboxError('workspace_full', 'Nothing was written: the disk of the server is full.', {
    cause,
  });
}
