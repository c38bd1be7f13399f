/** `talaria files put`: files of this machine, or stdin, to the server. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { connect } from '../client/connect.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { Interrupted, interruptible } from '../interruptible.ts';
import type { Input, Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { safeCommand, safeJson, safeLine } from '../text/safe-text.ts';
import { UsageError } from '../usage-error.ts';
import { upload } from './upload.ts';

interface Source {
  /** For people. */
  readonly path: string;
  /** Undefined for stdin. */
  readonly place: string | undefined;
  readonly filename: string;
  /** Unknown for stdin. */
  readonly size: number | undefined;
}

export async function putFiles(args: Arguments<'filesPut'>, terminal: Terminal): Promise<number> {
  const { path: paths, name } = args;
  if (name !== undefined && paths.length > 1) throw new UsageError('--name is for one file');
  if (name === undefined && paths.includes('-')) throw new UsageError('expected --name <name> for stdin');
  // All are looked at before one is uploaded: a mistake in a name uploads nothing.
  const sources = await Promise.all(paths.map((path) => toSource(path, name, terminal.workingDir)));
  const client = connect(args, terminal);
  try {
    return await interruptible(async (signal) => {
      for (const { path, place, ...source } of sources) {
        const read = (onBytes: (count: number) => void) =>
          bytesOf(path, openSource(place, terminal), onBytes);
        const file = await upload(client, { ...source, purpose: args.purpose, signal, read }, terminal);
        if (args.json) terminal.out(safeJson(file));
        else if (args.quiet) terminal.out(safeLine(file.id));
        else terminal.out(`${safeLine(file.id)}  ${bytes(file.bytes)}  ${safeLine(file.filename)}`);
      }
      return exitCodes.ok;
    });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new CommandError('Interrupted; incomplete files were not kept', exitCodes.interrupted);
  }
}

async function toSource(path: string, given: string | undefined, workingDir: string): Promise<Source> {
  if (path === '-') return { path, place: undefined, filename: given!, size: undefined };
  const place = resolve(workingDir, path);
  const found = await stat(place).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${safeCommand(path)} cannot be read: ${reasonOf(error)}`);
  });
  if (found.isDirectory()) {
    throw new CommandError(
      `${safeCommand(path)} is a directory; pack it first: tar cz … | talaria files put -`,
    );
  }
  return { path, place, filename: given ?? basename(path), size: found.isFile() ? found.size : undefined };
}

function openSource(place: string | undefined, { stdin }: { stdin: Input }): AsyncIterable<Uint8Array> {
  return place === undefined ? stdin.stream : createReadStream(place);
}

async function* bytesOf(
  path: string,
  source: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of source) {
      onBytes(chunk.length);
      yield chunk;
    }
  } catch (error) {
    const reason = reasonOf(error as NodeJS.ErrnoException);
    throw new CommandError(`${safeCommand(path)} cannot be read: ${reason}`);
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such file',
    EACCES: 'this user may not read it',
    EISDIR: 'it is a directory',
  };
  return reasons[code ?? ''] ?? message;
}
