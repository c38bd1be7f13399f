/** No run is lost, none is there twice, and there is none that nobody asked for. Jobs fire once. */
import type { RunEvent } from '@talaria/protocol';
import type { Evidence, Violation } from '../../evidence.ts';
import { mayFail } from '../known-run.ts';
import type { Observation } from '../observation.ts';

/** As long as all servers may be away when a job is due. */
const LATE_S = 25;

export function checkIdentity(evidence: Evidence, observation: Observation): Violation[] {
  const { runs, jobs, interval, unexpected } = evidence;
  const { listed } = observation;
  const byScript = Map.groupBy(listed, ({ input }) => /^SCRIPT id=(\S+)/.exec(input ?? '')?.[1] ?? '');
  const found = (script: string) => (byScript.get(script) ?? []).map(({ run_id }) => run_id);
  const violations: Violation[] = unexpected.map(({ work, what }) => ({
    rule: 'a client gets what it asks for',
    of: work,
    what,
  }));
  for (const { work, script, ids } of runs) {
    const different = new Set([...ids, ...found(script)]);
    if (ids.length === 0 && different.size <= 1) continue;
    if (different.size > 1) {
      violations.push({ rule: 'one run for one key', of: work, what: [...different].join(', ') });
    }
    if (found(script).length !== 1) {
      const what = `expected the run in the list once, found it ${found(script).length} times`;
      violations.push({ rule: 'no run is lost', of: ids[0] ?? work, what });
    }
  }
  for (const { work, script, id } of jobs) {
    const fired = found(script).length;
    const expected = id === undefined ? 'at most once' : 'once';
    if (fired > 1 || (id !== undefined && fired === 0)) {
      violations.push({
        rule: 'a job fires once',
        of: work,
        what: `expected ${expected}, fired ${fired} times`,
      });
    }
    if (id !== undefined && fired === 1) {
      const [run] = byScript.get(script)!;
      if (run?.job_id !== id || !endedWell(run, evidence, observation)) {
        const what = `its run ${run?.run_id} is ${run?.status}, of the job ${run?.job_id}`;
        violations.push({ rule: 'a job fires once', of: work, what });
      }
      if (observation.jobs.some((job) => job.id === id)) {
        violations.push({ rule: 'a job fires once', of: work, what: 'it is still there after its only run' });
      }
    }
  }
  violations.push(...checkInterval(evidence, observation));
  const scripts = new Set([...runs, ...jobs, ...(interval ? [interval] : [])].map(({ script }) => script));
  for (const { run_id, input } of listed) {
    const script = /^SCRIPT id=(\S+)/.exec(input ?? '')?.[1] ?? '';
    if (!scripts.has(script)) {
      violations.push({
        rule: 'no run that nobody asked for',
        of: run_id,
        what: String(input?.slice(0, 80)),
      });
    }
  }
  return violations;
}

function endedWell(
  { run_id, status, created_at }: Observation['listed'][number],
  { disruptions }: Evidence,
  { runs }: Observation,
): boolean {
  const last = runs[run_id]?.reads[0]?.data.at(-1);
  const end = last === undefined ? undefined : (JSON.parse(last) as RunEvent);
  return status === 'completed' || (end !== undefined && mayFail(end, created_at, disruptions));
}

/** Between two due times there is one run, however late: no more, and no fewer. */
function checkInterval({ interval }: Evidence, { listed }: Observation): Violation[] {
  if (interval === undefined) return [];
  const { id, first, deleted } = interval;
  const minutes = listed
    .filter(({ job_id }) => job_id === id)
    .map(({ created_at }) => (created_at - first) / 60);
  const fired = minutes.map(Math.floor).sort((a, b) => a - b);
  const due = Math.max(0, Math.floor((deleted - LATE_S - first) / 60) + 1);
  const isOnce = fired.every((minute, i) => minute >= 0 && minute !== fired[i - 1]);
  const isComplete = Array.from({ length: due }, (_, minute) => minute).every((minute) =>
    fired.includes(minute),
  );
  const what = `expected a run in each of ${due} minutes, got ${minutes.map((minute) => minute.toFixed(3)).join(', ')}`;
  return isOnce && isComplete ? [] : [{ rule: 'a job fires once', of: id, what }];
}
