/** `talaria artifacts ls`: the files of a run's workspace. */
import type { Artifact } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { nextCommand } from '../text/next-command.ts';
import { safeJson } from '../text/safe-text.ts';
import { shownPath } from '../text/shown-path.ts';
import { type Cell, table } from '../text/table.ts';
import { localTime } from '../text/time.ts';

export async function listArtifacts(args: Arguments<'artifactsLs'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const { path, recursive } = args;
  const list = await client.runs.artifacts.list(runId, { path, ...(recursive ? { recursive } : {}) });
  if (args.json) {
    terminal.out(safeJson(list, 2));
    return exitCodes.ok;
  }
  if (list.data.length === 0) terminal.err('No files');
  else if (args.quiet) for (const artifact of list.data) terminal.out(shownArtifact(artifact));
  else terminal.out(asTable(list.data, terminal));
  if (list.truncated) {
    terminal.err(
      `There is more than a listing holds; list its directories one by one, or take it all: ${nextCommand(`artifacts get ${runId}`, args.server)}`,
    );
  }
  return exitCodes.ok;
}

function asTable(artifacts: readonly Artifact[], { stdout }: Terminal): string {
  const { faint, busy } = stdout.style;
  const rows = artifacts.map((artifact): Cell[] => [
    { text: artifact.type === 'file' ? bytes(artifact.size) : '-' },
    { text: localTime(new Date(artifact.modified_at * 1000)), paint: faint },
    { text: shownArtifact(artifact), paint: artifact.type === 'directory' ? busy : undefined },
  ]);
  return table(['SIZE', 'MODIFIED', 'PATH'], rows, Number.POSITIVE_INFINITY);
}

function shownArtifact({ path, type }: Artifact): string {
  const name = shownPath(path);
  if (type === 'directory') return `${name}/`;
  return type === 'file' ? name : `${name} (${type})`;
}
