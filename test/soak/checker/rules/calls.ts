/** Tool calls: each begins and ends once, its effect is there at most once, and if it completed, its files are there or the run says so. */
import type { RunEvent } from '@talaria/protocol';
import type { Evidence, Mark, Violation } from '../../evidence.ts';
import { clientOutput } from '../../evidence.ts';
import {
  type KnownRun,
  knownRuns,
  LEAVES_FILE,
  type MadeCall,
  madeCalls,
  named,
  saysMissing,
} from '../known-run.ts';
import type { Observation } from '../observation.ts';

/** Of a kill and of what it cut off, which different processes have noted. */
const CLOCK_S = 1;

export function checkCalls(evidence: Evidence, observation: Observation): Violation[] {
  const moments = momentsOf([...evidence.marks, ...observation.marks]);
  const runs = knownRuns(evidence, observation);
  return [
    ...checkEffects(moments),
    ...runs.flatMap((run) => {
      const later = laterEvents(run, runs);
      return madeCalls(run.evidence.calls, run.events).flatMap((made) => [
        ...checkCall(run, made, evidence),
        ...checkTraces(run, made, moments, later),
      ]);
    }),
    ...runs.flatMap(checkAnswers),
  ];
}

/** By mark, the moments at which it was left. */
function momentsOf(marks: readonly Mark[]): Map<string, Set<string>> {
  const moments = new Map<string, Set<string>>();
  for (const { mark, moment } of marks) moments.set(mark, (moments.get(mark) ?? new Set()).add(moment));
  return moments;
}

function checkEffects(moments: Map<string, Set<string>>): Violation[] {
  return [...moments]
    .filter(([, times]) => times.size > 1)
    .map(([mark, times]) => ({
      rule: 'no effect twice',
      of: mark,
      what: `it was made at ${[...times].join(' and at ')}`,
    }));
}

function checkCall(run: KnownRun, { call, started, completed }: MadeCall, { disruptions }: Evidence) {
  const violations: Violation[] = [];
  const broken = (rule: string, what: string) =>
    violations.push({ rule, of: run.id, what: `${call.mark}: ${what}` });
  const isWhole = run.end?.event === 'run.completed';
  if (started.length > 1 || completed.length > 1 || (isWhole && started.length + completed.length !== 2)) {
    broken('a call begins and ends once', `it began ${started.length} and ended ${completed.length} times`);
  }
  const [begin] = started;
  const [outcome] = completed;
  if (
    begin !== undefined &&
    outcome?.error === true &&
    call.manner !== 'denied' &&
    run.evidence.stop === 'never asked'
  ) {
    const reason = disruptions.some(
      ({ from, to }) => to >= begin.timestamp - CLOCK_S && from <= outcome.timestamp + CLOCK_S,
    );
    if (!reason) broken('a call fails for a reason', `it failed, and nobody was killed: ${outcome.preview}`);
  }
  if (call.manner === 'client' && outcome !== undefined && run.evidence.stop === 'never asked') {
    const told =
      run.observed?.messages.filter(({ tool_call_id }) => tool_call_id === outcome.tool_call_id) ?? [];
    if (outcome.error || outcome.preview !== clientOutput(call.mark)) {
      broken('an output of a client is used once', `its outcome is ${outcome.preview}`);
    }
    if (
      isWhole &&
      run.evidence.session !== undefined &&
      (told.length !== 1 || told[0]?.content !== clientOutput(call.mark))
    ) {
      broken('an output of a client is used once', `the model was told ${JSON.stringify(told)}`);
    }
  }
  return violations;
}

/** The events after which files of this run may be missing: its own, and those of later runs in the same session. */
function laterEvents(run: KnownRun, runs: readonly KnownRun[]): RunEvent[] {
  const { session } = run.evidence;
  if (session === undefined) return [];
  const turns = runs.filter(({ evidence }) => evidence.session === session);
  return turns.slice(turns.indexOf(run) + 1).flatMap(({ events }) => events);
}

function checkTraces(
  { id, events, observed }: KnownRun,
  { call: { mark, manner }, completed }: MadeCall,
  moments: Map<string, Set<string>>,
  later: readonly RunEvent[],
): Violation[] {
  const isThere = observed?.files?.includes(`made/${mark}`) ?? false;
  if (manner === 'denied') {
    return isThere || moments.has(mark)
      ? [{ rule: 'a denied command never runs', of: id, what: `${mark} was made` }]
      : [];
  }
  const [outcome] = completed;
  if (outcome === undefined || outcome.error || !LEAVES_FILE.includes(manner) || isThere) return [];
  const isSaid = saysMissing(events, outcome.seq) || saysMissing(later, 0) || later.some(saysOlder);
  const what = `made/${mark} is missing, and no event after ${outcome.seq} says so`;
  return isSaid ? [] : [{ rule: 'a completed call has left its files', of: id, what }];
}

function saysOlder(event: RunEvent): boolean {
  return (
    (event.event === 'run.resumed' || event.event === 'tool.completed') &&
    event.workspace_as_of_seq !== undefined
  );
}

/** A question is asked once and answered once, and the answer that was accepted counts. */
function checkAnswers({ id, events, end, evidence: { approved, calls } }: KnownRun): Violation[] {
  const rule = 'an answer counts once';
  const requests = named(events, 'approval.request');
  const responses = named(events, 'approval.responded');
  const violations: Violation[] = [];
  for (const { request_id, tool_call_id } of requests) {
    const answers = responses.filter((response) => response.request_id === request_id);
    if (answers.length > 1 || (answers.length === 0 && end?.event === 'run.completed')) {
      violations.push({ rule, of: id, what: `${request_id} has ${answers.length} answers` });
    }
    const accepted = approved[request_id];
    if (accepted !== undefined && answers[0]?.choice !== accepted && end?.event === 'run.completed') {
      violations.push({ rule, of: id, what: `${accepted} was accepted, ${answers[0]?.choice} counted` });
    }
    if (requests.filter((other) => other.tool_call_id === tool_call_id).length > 1) {
      violations.push({ rule, of: id, what: `${tool_call_id} was asked about more than once` });
    }
  }
  const gated = calls.filter(({ manner }) => manner === 'approved' || manner === 'denied').length;
  if (end?.event === 'run.completed' && requests.length !== gated) {
    violations.push({ rule, of: id, what: `expected ${gated} questions, got ${requests.length}` });
  }
  return violations;
}
