/** `talaria jobs …`: runs on a schedule. */
import type { Job, Talaria } from '@talaria/client';
import { connect } from './client/connect.ts';
import { isMissingRoute, missingRoute } from './client/missing-route.ts';
import { CommandError } from './command-error.ts';
import type { Arguments } from './commands.ts';
import { exitCodes } from './exit-codes.ts';
import { readText } from './read-text.ts';
import type { Terminal } from './terminal.ts';
import { fields } from './text/fields.ts';
import { nextCommand } from './text/next-command.ts';
import { safeJson, safeLine, safeText } from './text/safe-text.ts';
import { type Cell, table } from './text/table.ts';
import { duration, localTimeInZone } from './text/time.ts';
import { UsageError } from './usage-error.ts';

export async function listJobs(args: Arguments<'jobsList'>, terminal: Terminal): Promise<number> {
  const { all } = args;
  const list = (include_disabled: boolean): Promise<Job[]> =>
    withJobs(args, terminal, ({ jobs }) => jobs.list(include_disabled ? { include_disabled } : {}));
  const jobs = await list(all);
  if (args.json) terminal.out(safeJson(jobs, 2));
  else if (args.quiet) for (const { id } of jobs) terminal.out(safeLine(id));
  else if (jobs.length === 0) terminal.err(noJobs(all ? 0 : (await list(true)).length));
  else terminal.out(asTable(jobs, terminal));
  return exitCodes.ok;
}

function noJobs(paused: number): string {
  if (paused === 0) return 'No jobs; talaria help jobs create shows how to make one';
  return `No active jobs; ${paused === 1 ? '1 is paused, -a shows it' : `${paused} are paused, -a shows them`}`;
}

export async function showJob(args: Arguments<'jobsShow'>, terminal: Terminal): Promise<number> {
  const job = await withJob(args, terminal, ({ jobs }, id) => jobs.get(id));
  terminal.out(args.json ? safeJson(job, 2) : asText(job, terminal));
  return exitCodes.ok;
}

export async function createJob(args: Arguments<'jobsCreate'>, terminal: Terminal): Promise<number> {
  const { name, schedule, repeat, timezone, retention } = args;
  if (schedule === undefined) throw new UsageError('expected --schedule <when>');
  const prompt = await readText(args.prompt, 'the prompt', terminal);
  const job = await withJobs(args, terminal, ({ jobs }) =>
    jobs.create({ name, schedule, prompt, repeat, timezone, retention_seconds: retention }),
  );
  terminal.out(args.json ? safeJson(job, 2) : `${safeLine(job.id)} ${safeLine(job.name)}: ${whenNext(job)}`);
  return exitCodes.ok;
}

export function pauseJob(args: Arguments<'jobsPause'>, terminal: Terminal): Promise<number> {
  return changeJob(
    args,
    terminal,
    ({ jobs }, id) => jobs.pause(id, { reason: args.reason }),
    () => 'paused',
  );
}

export function resumeJob(args: Arguments<'jobsResume'>, terminal: Terminal): Promise<number> {
  return changeJob(args, terminal, ({ jobs }, id) => jobs.resume(id), whenNext);
}

export function runJob(args: Arguments<'jobsRun'>, terminal: Terminal): Promise<number> {
  return changeJob(
    args,
    terminal,
    ({ jobs }, id) => jobs.run(id),
    ({ last_run_id: runId }) =>
      typeof runId === 'string'
        ? `started; ${nextCommand(`watch ${safeLine(runId)}`, args.server)} shows it`
        : `started; ${nextCommand('runs', args.server)} shows it`,
  );
}

export async function deleteJob(args: Arguments<'jobsDelete'>, terminal: Terminal): Promise<number> {
  let deleted = '';
  const answer = await withJob(args, terminal, ({ jobs }, id) => {
    deleted = id;
    return jobs.delete(id);
  });
  terminal.out(args.json ? safeJson(answer, 2) : `${deleted} deleted`);
  return exitCodes.ok;
}

interface JobArguments {
  readonly job: string;
  readonly json: boolean;
  readonly server: string | undefined;
}

async function changeJob(
  args: JobArguments,
  terminal: Terminal,
  change: (client: Talaria, id: string) => Promise<Job>,
  describe: (job: Job) => string,
): Promise<number> {
  const job = await withJob(args, terminal, change);
  terminal.out(args.json ? safeJson(job, 2) : `${safeLine(job.id)} ${safeLine(job.name)}: ${describe(job)}`);
  return exitCodes.ok;
}

function withJob<T>(
  args: JobArguments,
  terminal: Terminal,
  ask: (client: Talaria, id: string) => Promise<T>,
): Promise<T> {
  return withJobs(args, terminal, async (client) => ask(client, await findJob(client, args.job)));
}

/** Not every server has jobs, and an unknown path is not the same as an unknown job. */
async function withJobs<T>(
  args: Pick<JobArguments, 'server'>,
  terminal: Terminal,
  ask: (client: Talaria) => Promise<T>,
): Promise<T> {
  const client = connect(args, terminal);
  try {
    return await ask(client);
  } catch (error) {
    if (!isMissingRoute(error) || /^job not found/i.test(error.message)) throw error;
    throw await missingRoute(client, `The server at ${client.baseUrl} has no scheduled runs (no /api/jobs)`);
  }
}

const JOB_ID = /^[0-9a-f]{12}$/;

async function findJob({ jobs }: Talaria, given: string): Promise<string> {
  if (JOB_ID.test(given)) return given;
  if (!/^[0-9a-f]+$/.test(given)) {
    throw new UsageError(
      `${JSON.stringify(given)} is not the id of a job; expected 12 hex digits or their beginning`,
    );
  }
  const found = (await jobs.list({ include_disabled: true })).filter(({ id }) => id.startsWith(given));
  if (found.length === 1) return found[0]!.id;
  if (found.length === 0)
    throw new CommandError(`No job begins with ${given}; talaria jobs list -a lists them`);
  throw new CommandError(`${found.length} jobs begin with ${given}: ${found.map(({ id }) => id).join(', ')}`);
}

function asTable(jobs: readonly Job[], { stdout }: Terminal): string {
  const { style } = stdout;
  const rows = jobs.map((job): Cell[] => [
    { text: safeLine(job.id) },
    { text: safeLine(job.state), paint: job.state === 'paused' ? style.careful : style.good },
    { text: safeLine(job.schedule_display) },
    { text: shownTime(job.next_run_at) },
    { text: safeLine(job.last_status ?? '-'), paint: job.last_status === 'error' ? style.bad : undefined },
    { text: safeLine(job.name) },
  ]);
  return table(['JOB', 'STATE', 'SCHEDULE', 'NEXT', 'LAST', 'NAME'], rows, stdout.columns);
}

function asText(job: Job, { stdout: { style } }: Terminal): string {
  // A server that does not count them leaves it out.
  const { times = null, completed = 0 } = job.repeat ?? {};
  const lines = fields(
    [
      ['job', safeLine(job.id)],
      ['name', safeLine(job.name)],
      ['state', safeLine(job.paused_reason ? `${job.state}: ${job.paused_reason}` : job.state)],
      ['schedule', safeLine(job.schedule_display)],
      job.timezone === undefined ? undefined : ['zone', safeLine(job.timezone)],
      ['next', shownTime(job.next_run_at)],
      [
        'last',
        `${shownTime(job.last_run_at)}${job.last_status === null ? '' : ` (${safeLine(job.last_status)})`}`,
      ],
      typeof job.last_run_id === 'string' ? ['run', safeLine(job.last_run_id)] : undefined,
      job.last_error === null ? undefined : ['error', style.bad(safeLine(job.last_error))],
      typeof job.last_skipped_at === 'string' ? ['skipped', shownTime(job.last_skipped_at)] : undefined,
      typeof job.retention_seconds === 'number'
        ? ['keeps runs', `for ${duration(job.retention_seconds)}`]
        : undefined,
      ['runs', times === null ? String(completed) : `${completed} of ${times}`],
    ],
    style,
  );
  return [...lines, '', safeText(job.prompt).trimEnd()].join('\n');
}

function whenNext({ next_run_at }: Job): string {
  return next_run_at === null ? 'not scheduled' : `next at ${shownTime(next_run_at)}`;
}

function shownTime(time: string | null): string {
  const date = time === null ? undefined : new Date(time);
  return date === undefined || Number.isNaN(date.getTime()) ? '-' : localTimeInZone(date);
}
