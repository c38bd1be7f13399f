/**
 * Copies from this machine into a run's workspace, also while the run works: a file, or the files of a directory, one after
 * the other. Each file is there as a whole or not at all. Of a directory, what `.gitignore` names and `.git` stay here,
 * as when a run begins with it.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, posix, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { APIError, type Talaria } from '@talaria/client';
import { CommandError } from '../../command-error.ts';
import { LiveScreen } from '../../screen/live-screen.ts';
import { ProgressBar } from '../../screen/progress-bar.ts';
import type { Terminal } from '../../terminal.ts';
import { shownPath } from '../../text/shown-path.ts';
import type { NotTaken } from '../not-taken.ts';
import { textOf, toRaw } from '../pack/raw-path.ts';
import { survey } from '../pack/survey.ts';
import type { Copied } from './copied.ts';
import { workspacePath } from './place.ts';

export interface UploadTo {
  readonly client: Talaria;
  readonly runId: string;
  readonly from: string;
  readonly path: string;
  readonly force: boolean;
  readonly signal: AbortSignal;
}

interface LocalFile {
  readonly place: string;
  readonly path: string;
  readonly size: number;
}

export async function upload(wanted: UploadTo, { stderr, workingDir }: Terminal): Promise<Copied> {
  const { from } = wanted;
  const place = resolve(workingDir, from);
  const found = await stat(place).catch(() => undefined);
  if (found === undefined) throw new CommandError(`${shownPath(from)} cannot be read: there is no such file`);
  const { files, leftOut, to } = found.isDirectory()
    ? await filesOf(wanted, place)
    : await oneFile(wanted, place, found.size);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const bar = new ProgressBar(shownPath(from), bytes, 0);
  using screen = stderr.canRedraw ? new LiveScreen(stderr) : undefined;
  screen?.setFooter((columns) => [bar.row(columns, stderr.style)]);
  for (const [done, file] of files.entries()) {
    await write(wanted, file, (count) => bar.add(count)).catch((error: unknown) => {
      throw explained(error, file, done, files.length);
    });
  }
  return { files: files.length, bytes, leftOut, to };
}

interface Chosen {
  readonly files: readonly LocalFile[];
  readonly leftOut: readonly NotTaken[];
  /** For people. */
  readonly to: string;
}

async function oneFile(wanted: UploadTo, place: string, size: number): Promise<Chosen> {
  const path = await targetOf(wanted, basename(place));
  return { files: [{ place, path, size }], leftOut: [], to: shownTarget(wanted, path) };
}

async function filesOf(wanted: UploadTo, place: string): Promise<Chosen> {
  // As for `cp`, a dot at the end means what is in the directory.
  const isContents = /(^|\/)\.\/?$/.test(wanted.from);
  const target = isContents ? workspacePath(wanted.path) : await targetOf(wanted, basename(place));
  const { entries, leftOut } = await survey(place, { withGit: false });
  const files: LocalFile[] = [];
  const others: NotTaken[] = [];
  for (const entry of entries) {
    const path = textOf(entry.path);
    if (entry.type !== 'file') others.push({ path, reason: 'a link' });
    else if (toRaw(Buffer.from(path)) !== entry.path)
      others.push({ path, reason: 'a name that is not UTF-8' });
    else files.push({ place: `${place}/${path}`, path: posix.join(target, path), size: entry.size });
  }
  return { files, leftOut: [...leftOut, ...others], to: shownTarget(wanted, target) };
}

/** Into a directory that exists, or one that is written with a slash, under its own name; otherwise as given. */
async function targetOf({ client, runId, path: given, signal }: UploadTo, name: string): Promise<string> {
  const path = workspacePath(given);
  if (path === '' || given.endsWith('/')) return posix.join(path, name);
  try {
    const { data } = await client.runs.artifacts.list(runId, { path }, { signal });
    const isFile = data.length === 1 && data[0]!.path === path;
    return isFile ? path : posix.join(path, name);
  } catch (error) {
    if (error instanceof APIError && error.code === 'artifact_not_found') return path;
    throw error;
  }
}

async function write(
  { client, runId, force, signal }: UploadTo,
  { place, path }: LocalFile,
  onBytes: (count: number) => void,
): Promise<void> {
  const counted = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of createReadStream(place)) {
      onBytes((chunk as Buffer).length);
      yield chunk as Buffer;
    }
  };
  const content = Readable.toWeb(Readable.from(counted(), { objectMode: false }));
  const condition = force ? {} : { ifNoneMatch: '*' as const };
  await client.runs.artifacts.write(runId, path, content as ReadableStream<Uint8Array>, condition, {
    signal,
  });
}

function explained(error: unknown, { path }: LocalFile, done: number, total: number): unknown {
  const so = total === 1 ? '' : ` Copied ${done} of ${total} files`;
  if (error instanceof APIError && error.code === 'precondition_failed') {
    return new CommandError(`${shownPath(path)} exists in the run; --force replaces it.${so}`);
  }
  if (total === 1 || !(error instanceof APIError)) return error;
  return new CommandError(`${shownPath(path)}: ${error.message}.${so}`);
}

function shownTarget({ runId }: UploadTo, path: string): string {
  return `${runId}:${path}`;
}
