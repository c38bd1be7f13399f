/**
 * The files of a run, as it began with them and as they are now.
 *
 * A file is read as an archive of its own, which says whether it can be executed. Archives leave links out; where a link
 * leads is in the patch of its path.
 */
import { APIError, type Talaria } from '@talaria/client';
import { ArchiveError } from '../../../setup/archives/archive-entry.ts';
import { readTar } from '../../../setup/archives/read-tar.ts';
import { CommandError } from '../../command-error.ts';
import { shownPath } from '../../text/shown-path.ts';
import { type Entry, NONE } from './entry.ts';
import { fileFrom } from './file-from.ts';
import { linksInPatch } from './links-in-patch.ts';

/** The first event of a run comes before its first tool call. */
const START_SEQ = 0;

/** A restarted server is back by then. */
const MAX_RETRIES = 5;

export class RunFiles {
  readonly #client: Talaria;
  readonly #runId: string;
  readonly #signal: AbortSignal;

  constructor(client: Talaria, runId: string, signal: AbortSignal) {
    this.#client = client;
    this.#runId = runId;
    this.#signal = signal;
  }

  atStart(path: string): Promise<Entry> {
    return this.#read(path, START_SEQ, undefined);
  }

  /** `copy` is where the content of a file goes, if it is wanted. */
  now(path: string, copy: string | undefined): Promise<Entry> {
    return this.#read(path, undefined, copy);
  }

  async #read(path: string, at: number | undefined, copy: string | undefined): Promise<Entry> {
    const query = { path, format: 'tar', at } as const;
    const options = { signal: this.#signal, maxRetries: MAX_RETRIES };
    try {
      const { body } = await this.#client.runs.artifacts.archive(this.#runId, query, options);
      return body === null ? NONE : await entryIn(body, copy);
    } catch (error) {
      if (error instanceof APIError && error.code === 'artifact_not_found') return NONE;
      if (error instanceof APIError && error.code === 'invalid_path') return this.#link(path, at);
      if (!(error instanceof ArchiveError)) throw error;
      throw new CommandError(`${shownPath(path)} did not arrive as a whole (${error.message}); try again`);
    }
  }

  async #link(path: string, at: number | undefined): Promise<Entry> {
    const options = { signal: this.#signal, maxRetries: MAX_RETRIES };
    const response = await this.#client.runs.patch(this.#runId, { path }, options);
    const links = linksInPatch(await response.text());
    const target = at === undefined ? links.now : links.before;
    if (target !== undefined) return { type: 'symlink', target };
    throw new CommandError(`${shownPath(path)} is neither a file nor a link in the run, and cannot be taken`);
  }
}

/** The one file of the archive. */
async function entryIn(body: ReadableStream<Uint8Array>, copy: string | undefined): Promise<Entry> {
  let found: Entry = NONE;
  for await (const entry of readTar(body)) {
    if (entry.type === 'file') found = await fileFrom(entry, copy);
    if (entry.type === 'symlink') found = { type: 'symlink', target: String(entry.target) };
  }
  return found;
}
