/**
 * Saves a download under its name, when it is complete. A file is first checked against its sha256, and an interrupted
 * one stays for the next time. Nothing stays of an interrupted archive: it would be a different one the next time.
 */
import { resolve } from 'node:path';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { type FileError, isFileError } from '../file-error.ts';
import { Interrupted } from '../interruptible.ts';
import { LiveScreen } from '../screen/live-screen.ts';
import { ProgressBar } from '../screen/progress-bar.ts';
import type { Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { safeCommand } from '../text/safe-text.ts';
import { chooseDestination, existsError, refuseExisting, shownFile } from './destination.ts';
import { PartFile } from './part-file.ts';
import type { Source } from './source.ts';

export interface Saved {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

export async function save(
  source: Source,
  options: { readonly output: string | undefined; readonly force: boolean },
  terminal: Terminal,
): Promise<Saved> {
  const destination = chooseDestination(source.name, options.output, terminal.workingDir);
  const place = resolve(terminal.workingDir, destination);
  try {
    if (!options.force) refuseExisting(place, destination);
    const total = lengthOf(source.response);
    await using part = await PartFile.open(place, source.digest, total);
    await receive(source, part, new ProgressBar(shownFile(destination), total, part.size), terminal);
    const sha256 = part.digest();
    if (source.digest !== undefined && sha256 !== source.digest) {
      await part.remove();
      throw new CommandError(`${shownFile(destination)} was damaged on the way and is not saved; try again`);
    }
    await part.moveToPlace(options.force);
    return { file: destination, bytes: part.size, sha256 };
  } catch (error) {
    await source.response.body?.cancel().catch(() => {});
    throw isFileError(error) ? explainFileError(error, destination) : error;
  }
}

async function receive(source: Source, part: PartFile, bar: ProgressBar, terminal: Terminal): Promise<void> {
  const { stderr } = terminal;
  using screen = stderr.canRedraw ? new LiveScreen(stderr) : undefined;
  screen?.setFooter((columns) => [bar.row(columns, stderr.style)]);
  try {
    const body = await restOf(source, part);
    if (body === undefined) return;
    for await (const chunk of body) {
      await part.write(chunk);
      bar.add(chunk.length);
    }
  } catch (error) {
    const kept = source.openAt !== undefined && source.digest !== undefined && part.size > 0;
    if (!kept) await part.remove();
    if (isFileError(error)) throw error;
    const interrupted = error instanceof Interrupted;
    throw new CommandError(
      `${interrupted ? 'Interrupted' : (error as Error).message} at ${bar.percent ?? bytes(part.size)}${
        bar.percent === undefined ? '' : '%'
      }${kept ? '; the same command continues from there' : ''}`,
      interrupted ? exitCodes.interrupted : exitCodes.unreachable,
    );
  }
}

/** The bytes that the part is still missing; undefined if it has them all. */
async function restOf(
  { response, openAt }: Source,
  part: PartFile,
): Promise<ReadableStream<Uint8Array> | undefined> {
  if (part.size === 0 || openAt === undefined) return response.body ?? undefined;
  const whole = part.size === lengthOf(response);
  await response.body?.cancel();
  return whole ? undefined : ((await openAt(part.size)).body ?? undefined);
}

function lengthOf({ headers }: Response): number | undefined {
  const length = headers.get('content-length');
  return length === null ? undefined : Number(length);
}

function explainFileError({ code }: FileError, destination: string): CommandError {
  if (code === 'EEXIST') return existsError(destination);
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such directory',
    ENOSPC: 'the disk is full',
    ELOOP: 'a link is in the way',
    EACCES: 'this user may not write there',
  };
  return new CommandError(`${safeCommand(destination)} cannot be written: ${reasons[code] ?? code}`);
}
