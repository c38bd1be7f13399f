/** `talaria files get`: an uploaded file, to this machine. */
import type { Talaria } from '@talaria/client';
import { printBody } from '../artifacts/cat.ts';
import { save } from '../artifacts/save.ts';
import type { Source } from '../artifacts/source.ts';
import { connect } from '../client/connect.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { interruptible } from '../interruptible.ts';
import type { Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { safeCommand, safeJson } from '../text/safe-text.ts';
import { UsageError } from '../usage-error.ts';
import { findFile } from './find-file.ts';

/** A restarted server is back by then. */
const MAX_RETRIES = 5;

export async function getFile(args: Arguments<'filesGet'>, terminal: Terminal): Promise<number> {
  const toStdout = args.output === '-';
  if (toStdout && args.json) throw new UsageError('-o - leaves no room for --json');
  const client = connect(args, terminal);
  const fileId = await findFile(client, args.file);
  return interruptible(async (signal) => {
    const source = await openFile(client, fileId, signal);
    if (toStdout) {
      await printBody(source.response.body!, terminal);
      return exitCodes.ok;
    }
    const saved = await save(source, args, terminal);
    terminal.out(args.json ? safeJson(saved, 2) : `${safeCommand(saved.file)}  ${bytes(saved.bytes)}`);
    return exitCodes.ok;
  });
}

async function openFile(client: Talaria, fileId: string, signal: AbortSignal): Promise<Source> {
  // Reports at once, without retries, that it does not exist, or that there is no server.
  const { filename, sha256 } = await client.files.get(fileId, { signal });
  const openAt = (start: number): Promise<Response> =>
    client.files.content(fileId, { signal, start, maxRetries: MAX_RETRIES });
  return { name: filename, response: await openAt(0), digest: sha256, openAt };
}
