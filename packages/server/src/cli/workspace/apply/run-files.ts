/**
 * The files that a run has changed, as it began with them and as it left them. Both come from the two checkpoints that the
 * server compared: what happens to the workspace meanwhile does not matter.
 */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ChangedFile, RunDiff, Talaria } from '@talaria/client';
import { CommandError } from '../../command-error.ts';
import { shownPath } from '../../text/shown-path.ts';
import { type Entry, NONE } from './entry.ts';
import { linksInPatch } from './links-in-patch.ts';
import { writeContent } from './write-content.ts';

/** A restarted server is back by then. */
const MAX_RETRIES = 5;

/** As git writes modes. */
const LINK = '120000';
const PROGRAM = '100755';

type Sides = Pick<RunDiff, 'from_seq' | 'to_seq'>;

export class RunFiles {
  readonly #client: Talaria;
  readonly #runId: string;
  readonly #sides: Sides;
  readonly #signal: AbortSignal;

  constructor(client: Talaria, runId: string, sides: Sides, signal: AbortSignal) {
    this.#client = client;
    this.#runId = runId;
    this.#sides = sides;
    this.#signal = signal;
  }

  async before({ path, status, mode, old_mode = mode }: ChangedFile): Promise<Entry> {
    if (status === 'added') return NONE;
    if (old_mode === LINK) return this.#link(path, 'before');
    const response = await this.#open(path, this.#sides.from_seq);
    await response.body?.cancel();
    return { type: 'file', sha256: digestOf(response, path), executable: old_mode === PROGRAM };
  }

  /** `copy` is where the content of a file goes, if it is wanted. */
  async after({ path, status, mode }: ChangedFile, copy: string | undefined): Promise<Entry> {
    if (status === 'deleted') return NONE;
    if (mode === LINK) return this.#link(path, 'now');
    const response = await this.#open(path, this.#sides.to_seq);
    const sha256 = digestOf(response, path);
    if (copy === undefined) await response.body?.cancel();
    else if (
      (await writeContent(response.body ?? nothing(), copy, await sizeOf(response, path, dirname(copy)))) !==
      sha256
    ) {
      throw new CommandError(`${shownPath(path)} was damaged on the way; nothing was applied. Try again`);
    }
    return { type: 'file', sha256, executable: mode === PROGRAM };
  }

  #open(path: string, at: number): Promise<Response> {
    const options = { at, signal: this.#signal, maxRetries: MAX_RETRIES };
    return this.#client.runs.artifacts.read(this.#runId, path, options);
  }

  /** Links cannot be read, but the patch says where they lead. */
  async #link(path: string, side: 'before' | 'now'): Promise<Entry> {
    const { from_seq: from, to_seq: to } = this.#sides;
    const options = { signal: this.#signal, maxRetries: MAX_RETRIES };
    const response = await this.#client.runs.patch(this.#runId, { from, to, path }, options);
    const { [side]: target } = linksInPatch(await textOf(response, path));
    if (target !== undefined) return { type: 'symlink', target };
    throw new CommandError(`The server does not say where the link ${shownPath(path)} leads`);
  }
}

/** A path has at most 4096 bytes. The patch has it at most twice. */
const LINK_PATCH_BYTES = 64 * 1024;

async function textOf({ body }: Response, path: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? nothing()) {
    length += piece.length;
    if (length > LINK_PATCH_BYTES) {
      throw new CommandError(`The server sends too much about the link ${shownPath(path)}`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

/** The size that the server announces, checked before any of the file is written. */
async function sizeOf({ headers }: Response, path: string, directory: string): Promise<number> {
  const size = Number(headers.get('content-length') ?? Number.NaN);
  if (!Number.isSafeInteger(size) || size < 0) {
    throw new CommandError(`The server sent ${shownPath(path)} without its size`);
  }
  const { bavail, bsize } = await statfs(directory);
  if (size <= bavail * bsize) return size;
  throw new CommandError(
    `${shownPath(path)} has ${size} bytes, which is more than the disk has room for; nothing was applied`,
  );
}

function digestOf({ headers }: Response, path: string): string {
  const [, sha256] = /^"([0-9a-f]{64})"$/.exec(headers.get('etag') ?? '') ?? [];
  if (sha256 !== undefined) return sha256;
  throw new CommandError(`The server sent ${shownPath(path)} without its sha256`);
}
