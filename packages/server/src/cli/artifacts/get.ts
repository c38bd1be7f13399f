/** `talaria artifacts get`: a file, or a directory as an archive, to this machine. */
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { interruptible } from '../interruptible.ts';
import type { Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { safeCommand, safeJson } from '../text/safe-text.ts';
import { UsageError } from '../usage-error.ts';
import { printBody } from './cat.ts';
import { save } from './save.ts';
import { openSource } from './source.ts';

export async function getArtifact(args: Arguments<'artifactsGet'>, terminal: Terminal): Promise<number> {
  const toStdout = args.output === '-';
  if (toStdout && terminal.stdout.isTerminal) {
    throw new UsageError('-o - is for pipes; talaria artifacts cat shows a file');
  }
  if (toStdout && args.json) throw new UsageError('-o - leaves no room for --json');
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const { path, format } = args;
  return interruptible(async (signal) => {
    const source = await openSource(client, { runId, path, format }, signal);
    if (toStdout) {
      await printBody(source.response.body!, terminal);
      return exitCodes.ok;
    }
    const saved = await save(source, args, terminal);
    terminal.out(args.json ? safeJson(saved, 2) : `${safeCommand(saved.file)}  ${bytes(saved.bytes)}`);
    return exitCodes.ok;
  });
}
