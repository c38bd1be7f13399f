/** `talaria files put`: files of this machine, or stdin, to the server. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { StoredFile, Talaria } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { Interrupted, interruptible } from '../interruptible.ts';
import { LiveScreen } from '../screen/live-screen.ts';
import { ProgressBar } from '../screen/progress-bar.ts';
import type { Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { safeCommand, safeJson, safeLine } from '../text/safe-text.ts';
import { UsageError } from '../usage-error.ts';

interface Upload {
  readonly path: string;
  readonly name: string;
  /** Unknown for stdin. */
  readonly size: number | undefined;
}

export async function putFiles(args: Arguments<'filesPut'>, terminal: Terminal): Promise<number> {
  const { path: paths, name } = args;
  if (name !== undefined && paths.length > 1) throw new UsageError('--name is for one file');
  if (name === undefined && paths.includes('-')) throw new UsageError('expected --name <name> for stdin');
  // All are looked at before one is uploaded: a mistake in a name uploads nothing.
  const uploads = await Promise.all(paths.map((path) => toUpload(path, name)));
  const client = connect(args, terminal);
  try {
    return await interruptible(async (signal) => {
      for (const upload of uploads) {
        const file = await put(client, upload, { purpose: args.purpose, signal }, terminal);
        if (args.json) terminal.out(safeJson(file));
        else if (args.quiet) terminal.out(safeLine(file.id));
        else terminal.out(`${safeLine(file.id)}  ${bytes(file.bytes)}  ${safeLine(file.filename)}`);
      }
      return exitCodes.ok;
    });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new CommandError('Interrupted; what was not complete is not there', exitCodes.interrupted);
  }
}

async function toUpload(path: string, given: string | undefined): Promise<Upload> {
  if (path === '-') return { path, name: given!, size: undefined };
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${safeCommand(path)} cannot be read: ${reasonOf(error)}`);
  });
  if (found.isDirectory()) {
    throw new CommandError(
      `${safeCommand(path)} is a directory; pack it first: tar cz … | talaria files put -`,
    );
  }
  return { path, name: given ?? basename(path), size: found.isFile() ? found.size : undefined };
}

async function put(
  client: Talaria,
  { path, name: filename, size }: Upload,
  { purpose, signal }: { purpose: string | undefined; signal: AbortSignal },
  { stderr }: Terminal,
): Promise<StoredFile> {
  const bar = new ProgressBar(safeLine(filename), size, 0);
  using screen = stderr.canRedraw ? new LiveScreen(stderr) : undefined;
  screen?.setFooter((columns) => [bar.row(columns, stderr.style)]);
  const source = new CountedSource(path, bar);
  try {
    return await client.files.create({ file: source, filename, purpose }, { signal });
  } catch (error) {
    throw source.problem ?? error;
  }
}

class CountedSource implements AsyncIterable<Uint8Array> {
  /** Why it could not be read to its end. The client reports it as a failed connection. */
  problem: CommandError | undefined;
  readonly #path: string;
  readonly #bar: ProgressBar;

  constructor(path: string, bar: ProgressBar) {
    this.#path = path;
    this.#bar = bar;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const source: AsyncIterable<Uint8Array> =
      this.#path === '-' ? process.stdin : createReadStream(this.#path);
    try {
      for await (const chunk of source) {
        this.#bar.add(chunk.length);
        yield chunk;
      }
    } catch (error) {
      const reason = reasonOf(error as NodeJS.ErrnoException);
      this.problem = new CommandError(`${safeCommand(this.#path)} cannot be read: ${reason}`);
      throw this.problem;
    }
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
