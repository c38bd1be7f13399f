/**
 * `talaria apply`: takes what a run changed into a directory of this machine. Everything is fetched and compared first;
 * then all changes are made, or none.
 */
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ChangedFile, isTerminalStatus, type RunDiff, type Talaria } from '@talaria/client';
import { connect } from '../../client/connect.ts';
import { findRun } from '../../client/find-run.ts';
import { CommandError } from '../../command-error.ts';
import type { Arguments } from '../../commands.ts';
import { exitCodes } from '../../exit-codes.ts';
import { isFileError } from '../../file-error.ts';
import { Interrupted, interruptible } from '../../interruptible.ts';
import { LiveScreen } from '../../screen/live-screen.ts';
import { ProgressBar } from '../../screen/progress-bar.ts';
import type { Terminal } from '../../terminal.ts';
import { safeJson } from '../../text/safe-text.ts';
import { shownPath } from '../../text/shown-path.ts';
import { orUnsupported } from '../diff/unsupported.ts';
import type { NotTaken } from '../not-taken.ts';
import { type Applied, appliedJson, printApplied } from './applied.ts';
import { assertTree } from './assert-tree.ts';
import { carryOut } from './carry-out.ts';
import { LocalFiles } from './local-files.ts';
import { pathProblem, WHY_LEFT_OUT } from './path-problem.ts';
import { makePlan, type Plan } from './plan.ts';
import { RunFiles } from './run-files.ts';
import { Staging } from './staging.ts';

export async function apply(args: Arguments<'apply'>, terminal: Terminal): Promise<number> {
  const { dir: directory = '.', 'dry-run': isDry, 'keep-mine': keepsMine } = args;
  const local = new LocalFiles(await existingDirectory(directory, terminal));
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const { status } = await client.runs.get(runId);
  if (!isTerminalStatus(status) && args.to === undefined) {
    terminal.err('The run has not ended; this is what it has changed so far');
  }
  const { diff, files, leftOut } = await changedFiles(client, runId, args.to);
  if (diff.to_omitted_count !== undefined) {
    terminal.err(`The server did not keep ${diff.to_omitted_count} paths of the run: they are not compared`);
  }
  try {
    await using resources = new AsyncDisposableStack();
    const staging = isDry ? undefined : resources.use(await Staging.open(local.root));
    const mayContinue = ({ conflicts }: Plan): boolean => conflicts.length === 0 || keepsMine;
    const plan = await interruptible(async (signal) => {
      const made = await planned(
        files,
        { run: new RunFiles(client, runId, diff, signal), local, staging },
        terminal,
      );
      // From here on Ctrl-C waits: all changes, or none.
      signal.throwIfAborted();
      if (staging !== undefined && mayContinue(made)) await carryOut(made.changes, local);
      return made;
    });
    const isRefused = !mayContinue(plan);
    const applied: Applied = {
      runId,
      directory,
      server: args.server,
      isDry,
      isRefused,
      plan: { ...plan, leftOut: [...leftOut, ...plan.leftOut] },
    };
    if (args.json) terminal.out(safeJson(appliedJson(applied), 2));
    else printApplied(applied, terminal);
    return isRefused ? exitCodes.conflicts : exitCodes.ok;
  } catch (error) {
    throw explained(error);
  }
}

/** A user who names a link to a directory means that directory. */
async function existingDirectory(directory: string, { workingDir }: Terminal): Promise<string> {
  const place = resolve(workingDir, directory);
  const found = await stat(place).catch(() => undefined);
  if (found?.isDirectory()) return realpath(place);
  throw new CommandError(`${shownPath(directory)} is not a directory`);
}

async function changedFiles(
  client: Talaria,
  runId: string,
  to: number | undefined,
): Promise<{ diff: RunDiff; files: ChangedFile[]; leftOut: NotTaken[] }> {
  const diff = await client.runs.diff(runId, { to }).catch((error: unknown) => {
    throw orUnsupported(error);
  });
  if (diff.truncated) {
    throw new CommandError('The run changed more files than the server lists; take them with talaria cp');
  }
  const files: ChangedFile[] = [];
  const leftOut: NotTaken[] = [];
  for (const file of diff.data) {
    const { path } = file;
    const problem = pathProblem(path);
    if (problem === 'outside') {
      throw new CommandError(`The server names a path outside of the workspace: ${shownPath(path)}`);
    }
    if (file.reason === 'not_kept') leftOut.push({ path, reason: 'not kept by the server' });
    else if (problem === undefined) files.push(file);
    else leftOut.push({ path, reason: WHY_LEFT_OUT[problem] });
  }
  assertTree(diff.data);
  return { diff, files, leftOut };
}

interface Sides {
  readonly run: RunFiles;
  readonly local: LocalFiles;
  readonly staging: Staging | undefined;
}

async function planned(
  files: readonly ChangedFile[],
  { run, local, staging }: Sides,
  { stderr }: Terminal,
): Promise<Plan> {
  const bar = new ProgressBar('files', files.length, 0, String);
  using screen = stderr.canRedraw ? new LiveScreen(stderr) : undefined;
  screen?.setFooter((columns) => [bar.row(columns, stderr.style)]);
  return makePlan(files, {
    local,
    run,
    copyFor: () => staging?.next(),
    onPlanned: () => bar.add(1),
  });
}

function explained(error: unknown): unknown {
  if (error instanceof Interrupted) {
    return new CommandError('Interrupted; nothing was applied', exitCodes.interrupted);
  }
  if (!isFileError(error)) return error;
  const { path = 'A file', code } = error;
  return new CommandError(
    `${shownPath(path)} cannot be read or written: ${code}; the same command takes what is missing`,
  );
}
