/**
 * Brings a directory of this machine to the server as one archive, for a run to begin with. The archive is an upload for
 * as long as the run is being created: afterwards the run has its own hold on it, and otherwise nobody needs it.
 */
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Talaria } from '@talaria/client';
import { tarGz } from '@talaria/sandbox';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { upload } from '../files/upload.ts';
import { confirm } from '../screen/confirm.ts';
import type { Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { safeLine } from '../text/safe-text.ts';
import { shownPath } from '../text/shown-path.ts';
import { UsageError } from '../usage-error.ts';
import { leftOutLines } from './not-taken.ts';
import { packedEntries } from './pack/packed-entries.ts';
import { type Survey, survey } from './pack/survey.ts';

export interface DirectoryOptions {
  readonly directory: string;
  readonly withGit: boolean;
  /** More megabytes than this are asked about, unless `yes`. */
  readonly askAboveMb: number | undefined;
  readonly yes: boolean;
  readonly signal: AbortSignal;
  /** Told what was uploaded, and what was not. */
  onUploaded(lines: readonly string[]): void;
}

/** What a run is created with. */
export interface PackedWorkspace {
  archives: [{ path: '.'; file_id: string }];
}

const ASK_ABOVE_MB = 100;
const MB = 1_000_000;

/** Uploads are listed by it. */
const PURPOSE = 'workspace';

const DELETE_RETRIES = 2;

/** `create` gets undefined for a directory without files. */
export async function withUploadedDirectory<T>(
  client: Talaria,
  options: DirectoryOptions,
  terminal: Terminal,
  create: (workspace: PackedWorkspace | undefined) => Promise<T>,
): Promise<T> {
  const { directory, signal, onUploaded } = options;
  const place = resolve(terminal.workingDir, directory);
  await expectDirectory(place, directory);
  const found = await survey(place, options);
  if (found.entries.length === 0) {
    onUploaded([`${shownPath(directory)} has no files to bring along`, ...leftOutLines(found.leftOut)]);
    return create(undefined);
  }
  await askIfLarge(found, options, terminal);
  const { id } = await upload(
    client,
    {
      filename: `${basename(place) || 'root'}.tar.gz`,
      purpose: PURPOSE,
      size: found.bytes,
      signal,
      read: (onBytes) => tarGz(packedEntries(found, onBytes)),
    },
    terminal,
  );
  onUploaded([`Uploaded ${amountOf(found)} of ${shownPath(directory)}`, ...leftOutLines(found.leftOut)]);
  try {
    return await create({ archives: [{ path: '.', file_id: id }] });
  } finally {
    await client.files.delete(id, { maxRetries: DELETE_RETRIES }).catch((error: Error) => {
      const how = `delete it with talaria files rm ${safeLine(id)}`;
      terminal.err(
        `The upload is no longer needed, but was not deleted (${safeLine(error.message)}); ${how}`,
      );
    });
  }
}

async function expectDirectory(place: string, directory: string): Promise<void> {
  const found = await stat(place).catch(() => undefined);
  if (found?.isDirectory()) return;
  const problem = found === undefined ? 'there is no such directory' : 'it is not a directory';
  throw new CommandError(`${shownPath(directory)} cannot be packed: ${problem}`);
}

async function askIfLarge(
  found: Survey,
  { directory, askAboveMb = ASK_ABOVE_MB, yes, signal }: DirectoryOptions,
  terminal: Terminal,
): Promise<void> {
  if (yes || found.bytes <= askAboveMb * MB) return;
  const answer = await confirm(`Upload ${amountOf(found)} of ${shownPath(directory)}?`, terminal, signal);
  if (answer === true) return;
  if (answer === false) throw new CommandError('Nothing was uploaded', exitCodes.failed);
  throw new UsageError(
    `${shownPath(directory)} has ${amountOf(found)}, more than ${bytes(askAboveMb * MB)}; --yes uploads it, and a .gitignore leaves files out`,
  );
}

function amountOf({ entries, bytes: size }: Survey): string {
  return `${entries.length} ${entries.length === 1 ? 'file' : 'files'}, ${bytes(size)}`;
}
