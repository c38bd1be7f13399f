/** `talaria runs`: a table of runs, newest first. `--watch` is in watch-runs.ts. */
import type { Run, RunFilter } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { shortIds } from '../client/find-run.ts';
import { isMissingRoute, missingRoute } from '../client/missing-route.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { type Cell, table } from '../text/table.ts';
import { age } from '../text/time.ts';
import { UsageError } from '../usage-error.ts';
import { describeRun, paintStatus } from './describe-run.ts';
import { watchRuns } from './watch-runs.ts';

const DEFAULT_LIMIT = 20;
const PAGE_MAX = 200;

export async function listRuns(args: Arguments<'runs'>, terminal: Terminal): Promise<number> {
  const { status, session: session_id, job: job_id, search: q } = args;
  const limit = args.all ? Number.POSITIVE_INFINITY : (args.limit ?? DEFAULT_LIMIT);
  if (args.watch) {
    if (q !== undefined) throw new UsageError('--watch cannot be combined with --search');
    return watchRuns({
      client: connect(args, terminal),
      terminal,
      filter: { status, session_id, job_id },
      limit,
      table: (runs) => asTable(runs, terminal),
      line: lineOf(args),
      lines: args.json || args.quiet,
    });
  }
  const runs: Run[] = [];
  const client = connect(args, terminal);
  const filter: RunFilter = { status, session_id, job_id, q, limit: Math.min(limit, PAGE_MAX) };
  try {
    for await (const run of client.runs.list(filter)) {
      runs.push(run);
      if (runs.length === limit) break;
    }
  } catch (error) {
    throw isMissingRoute(error) ? await missingRoute(client, 'This server does not list its runs') : error;
  }
  if (args.json) terminal.out(safeJson(runs, 2));
  else if (args.quiet) for (const { run_id } of runs) terminal.out(safeLine(run_id));
  else if (runs.length === 0) terminal.err("No runs; start one with talaria run '…'");
  else terminal.out(asTable(runs, terminal));
  return exitCodes.ok;
}

function lineOf({ json, quiet }: Pick<Arguments<'runs'>, 'json' | 'quiet'>): (run: Run) => string {
  if (json) return (run) => safeJson(run);
  if (quiet) return ({ run_id }) => safeLine(run_id);
  return (run) => [safeLine(run.run_id), safeLine(run.status), describeRun(run)].join('  ');
}

function asTable(runs: readonly Run[], { stdout }: Terminal): string {
  // Piped output may be kept for long: a short id may not be unique any more by then.
  const ids = stdout.isTerminal ? shortIds(runs) : undefined;
  const { faint } = stdout.style;
  const rows = runs.map((run): Cell[] => [
    { text: safeLine(ids?.get(run.run_id) ?? run.run_id) },
    { text: safeLine(run.status), paint: paintStatus(run.status, stdout.style) },
    { text: age(run.created_at) },
    // A run without a session of its own has its own id there.
    { text: run.session_id === run.run_id ? '-' : safeLine(run.session_id) },
    { text: describeRun(run), paint: faint },
  ]);
  return table(['RUN', 'STATUS', 'AGE', 'SESSION', 'ABOUT'], rows, stdout.columns);
}
