/** `talaria cp`: copies files and directories between this machine and the workspace of a run. */
import { connect } from '../../client/connect.ts';
import { findRun } from '../../client/find-run.ts';
import { CommandError } from '../../command-error.ts';
import type { Arguments } from '../../commands.ts';
import { exitCodes } from '../../exit-codes.ts';
import { Interrupted, interruptible } from '../../interruptible.ts';
import type { Terminal } from '../../terminal.ts';
import { bytes } from '../../text/bytes.ts';
import { safeJson } from '../../text/safe-text.ts';
import { shownPath } from '../../text/shown-path.ts';
import { UsageError } from '../../usage-error.ts';
import { leftOutLines } from '../not-taken.ts';
import type { Copied } from './copied.ts';
import { download } from './download.ts';
import { parsePlace } from './place.ts';
import { upload } from './upload.ts';

export async function copy(args: Arguments<'cp'>, terminal: Terminal): Promise<number> {
  if (args.to === '-') {
    throw new UsageError(
      '- is no place to copy to: talaria artifacts cat prints a file, and ./- is one of that name',
    );
  }
  if (args.from === '-') throw new UsageError('stdin cannot be copied; ./- is a file of that name');
  const [from, to] = [parsePlace(args.from), parsePlace(args.to)];
  const { force } = args;
  const client = connect(args, terminal);
  let work: (signal: AbortSignal) => Promise<Copied>;
  if (from.kind === 'run' && to.kind === 'here') {
    const runId = await findRun(client, from.run);
    work = (signal) => download({ client, runId, path: from.path, to: to.path, force, signal }, terminal);
  } else if (from.kind === 'here' && to.kind === 'run') {
    const runId = await findRun(client, to.run);
    work = (signal) => upload({ client, runId, from: from.path, path: to.path, force, signal }, terminal);
  } else {
    throw new UsageError(
      'one side must be of a run and the other of this machine: run_0193c7e8:path and path',
    );
  }
  try {
    report(await interruptible(work), args.json, terminal);
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new CommandError('Interrupted; incomplete files were not kept', exitCodes.interrupted);
  }
}

function report({ files, bytes: size, leftOut, to }: Copied, isJson: boolean, terminal: Terminal): void {
  if (isJson) {
    terminal.out(safeJson({ to, files, bytes: size, left_out: leftOut }, 2));
    return;
  }
  for (const line of leftOutLines(leftOut)) terminal.err(line);
  terminal.out(`${shownPath(to)}  ${files === 1 ? '' : `${files} files, `}${bytes(size)}`);
}
