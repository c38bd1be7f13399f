/**
 * Named places at which a test can kill the process like `kill -9`: no handler runs, nothing is flushed. They are
 * between an effect and its record, where a crash hurts most.
 *
 * Commits that write records of runs pass those of the journal, in every driver.
 *
 * `TALARIA_FAILPOINTS=name[@n][,…]` kills at the n-th passage (default the first). When it is unset, as in production,
 * a failpoint costs one comparison.
 */
export const FAILPOINTS = [
  'journal.before-commit',
  'journal.after-commit',
  'run.after-create',
  'job.before-fire',
  'run.after-claim',
  'setup.after-clear',
  'setup.after-part',
  'setup.before-record',
  'setup.after-record',
  'step.before-model',
  'step.after-delta',
  'step.before-append',
  'step.after-append',
  'tool.before-intent',
  'tool.after-intent',
  'tool.after-effect',
  'tool.after-outcome',
  'approval.before-request',
  'approval.after-request',
  'approval.after-answer',
  'approval.after-intent',
  'client-tool.before-waiting',
  'client-tool.after-waiting',
  'client-tool.before-outcome',
  'run.before-terminal',
  'run.after-terminal',
  'eviction.after-workspace',
  'eviction.after-records',
  'webhook.after-send',
  'checkpoint.after-blob',
  'checkpoint.after-record',
  'blob.before-whole',
  'blob.after-whole',
  'file.after-create',
  'file.after-delete',
  'move.after-batch',
  'move.after-copy',
  'move.before-verified',
  'apply.after-change',
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];

const armed = parse(process.env.TALARIA_FAILPOINTS);

export function failpoint(name: Failpoint): void {
  if (armed === undefined) return;
  const left = armed.get(name);
  if (left === undefined) return;
  if (left === 1) process.kill(process.pid, 'SIGKILL');
  armed.set(name, left - 1);
}

function parse(value: string | undefined): Map<string, number> | undefined {
  if (value === undefined || value === '') return undefined;
  const points = new Map<string, number>();
  for (const entry of value.split(',')) {
    const [name = '', count = '1'] = entry.split('@');
    if (!(FAILPOINTS as readonly string[]).includes(name) || !/^[1-9]\d*$/.test(count)) {
      throw new Error(
        `TALARIA_FAILPOINTS: '${entry}' is not one of ${FAILPOINTS.join(', ')} with an optional @n`,
      );
    }
    points.set(name, Number(count));
  }
  return points;
}
