/** No run is lost, none is there twice, and there is none that nobody asked for. Jobs fire once. */
import type { Evidence, Violation } from '../../evidence.ts';
import type { Observation } from '../observation.ts';

export function checkIdentity(evidence: Evidence, observation: Observation): Violation[] {
  const { runs, jobs, unexpected } = evidence;
  const { listed } = observation;
  const bySession = Map.groupBy(listed, ({ input }) => /^SCRIPT id=(\S+)/.exec(input ?? '')?.[1] ?? '');
  const found = (script: string) => (bySession.get(script) ?? []).map(({ run_id }) => run_id);
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
      const [run] = bySession.get(script)!;
      if (run?.job_id !== id || run.status !== 'completed') {
        const what = `its run ${run?.run_id} is ${run?.status}, of the job ${run?.job_id}`;
        violations.push({ rule: 'a job fires once', of: work, what });
      }
      if (observation.jobs.some((job) => job.id === id)) {
        violations.push({ rule: 'a job fires once', of: work, what: 'it is still there after its only run' });
      }
    }
  }
  const scripts = new Set([...runs, ...jobs].map(({ script }) => script));
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
